"""What all transforms share: a game around another one."""

from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.game import Cooperation, Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Drawing


class Transform(Environment):
    """A game that passes everything on to another one; subclasses change what they are about."""

    game: Environment

    @property
    def family(self) -> str:
        return self.game.family

    @property
    def seats(self) -> PerSeat[Seat]:
        return self.game.seats

    @property
    def symmetric(self) -> bool:
        return self.game.symmetric

    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        return self.game.reset(key)

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        return self.game.step(key, state, actions)

    def reset_where(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        return self.game.reset_where(key, state, over)

    def inner(self, state: PyTree) -> PyTree:
        """The state of the game inside."""
        return state

    def present(self, state: PyTree) -> PerSeat[Bool[Array, ""]]:
        return self.game.present(self.inner(state))

    def acting(self, state: PyTree) -> PerSeat[Bool[Array, ""]]:
        return self.game.acting(self.inner(state))

    @property
    def resumable(self) -> bool:
        return self.game.resumable

    def view(self, state: PyTree) -> PyTree:
        return self.game.view(self.inner(state))

    def locate(self, state: PyTree) -> Float[Array, "seats 2"] | None:
        return self.game.locate(self.inner(state))

    def draw(self, state: PyTree) -> Drawing:
        return self.game.draw(self.inner(state))

    def cooperation(
        self, state: PyTree, actions: PerSeat[PyTree], next_state: PyTree
    ) -> PerSeat[Cooperation] | None:
        return self.game.cooperation(state, actions, next_state)

    @property
    def disagreement(self) -> PerSeat[float]:
        return self.game.disagreement
