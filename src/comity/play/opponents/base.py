"""What all matchmakers have in common that draw opponents in groups and keep account of the games."""

from comity.core.errors import require
from comity.core.matchmaker import Matchmaker


class DrawnOpponents(Matchmaker):
    """Opponents are drawn in groups, each facing an equal slice of the batch; ratings and scores are kept."""

    groups: int = 16  # how many opponents are drawn in one iteration
    current_share: float = 0.0  # share of the groups in which the opponent is the present self
    learning_seats: int = 1  # in how many of its seats a learner with several sits as it is now
    rating_step: float = 8.0  # K of Elo's rule: points that a group of games moves a rating at most
    score_memory: float = 0.99  # how much games of before count beside new ones with the same opponent

    def __check_init__(self) -> None:
        for name in ("groups", "learning_seats"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in ("current_share", "score_memory"):
            require(0.0 <= getattr(self, name) <= 1.0, name, getattr(self, name), "between 0 and 1")
        require(self.rating_step > 0, "rating_step", self.rating_step, "above 0")

    @property
    def drawn(self) -> int:
        """In how many groups somebody is drawn; in the rest the present self sits opposite."""
        return self.groups - round(self.current_share * self.groups)
