"""Advantage Alignment in every way that it can be set up, and what is refused before anything is compiled."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.ppo import PPO
from comity.agents.shaping.adalign import AdvantageAlignment, Alignment
from comity.agents.shaping.opponent_values import Given, Learned, OpponentValues
from comity.agents.shaping.proximal_adalign import ProximalAdvantageAlignment
from comity.core.errors import ComityError
from comity.learn.critics import Critic
from comity.learn.statistics import ReturnNorm
from comity.nets import MLP, Inputs
from comity.play.matchmaking import PastSelves
from comity.play.specs import agent_from_data, make_agent, make_game
from comity.training import loop
from comity.training.experiment import Experiment, make_experiment
from tests.agents.shaped import OWN_VIEW, TABLE, largest, plain, quick_jit

SMALL = MLP(width=4)
DISCRETE, CONTINUOUS = ("prisoners-dilemma", {"horizon": 3}), ("negotiation", {"horizon": 3})
PAST = {"matchmaker": PastSelves(capacity=4, every=1, groups=2)}


def aligned(
    critic: dict[str, Any],
    opponent_values: OpponentValues = OWN_VIEW,
    learner: dict[str, Any] | None = None,
    proximal: bool = False,
    **term: Any,
) -> AdvantageAlignment | ProximalAdvantageAlignment:
    """An agent with small networks; what is not named is as in the agent's defaults."""
    common: dict[str, Any] = {"network": TABLE, "learning_rate": 1e-2, "value_coef": 1.0, "loss": "huber"}
    settings: dict[str, Any] = {
        "network": TABLE, "critic": Critic(**{**common, **critic}), "normalise_advantages": "scale",
        **(learner or {}),
    }  # fmt: skip
    if proximal:
        ppo = PPO(**{"minibatches": 1, **settings})
        return ProximalAdvantageAlignment(ppo, Alignment(**term), opponent_values)
    return AdvantageAlignment(A2C(**settings), Alignment(**term), opponent_values)


WAYS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "own view, two learners": (DISCRETE, aligned({}), {"share": False}),
    "own view, action values, slow copy, past selves": (
        DISCRETE,
        aligned(
            {"kind": "action-value", "target_tau": 0.01},
            learner={"normalise_advantages": "batch"},
            proximal=True,
        ),
        PAST,
    ),
    "own view, minibatches, past selves": (
        DISCRETE,
        aligned(
            {"norm": ReturnNorm(unit=5.0), "network": MLP(width=4, inputs=Inputs(clock=True))},
            learner={"minibatches": 2},
            proximal=True,
        ),
        PAST,
    ),
    "learned, action values": (DISCRETE, aligned({"kind": "action-value"}, Learned()), {}),
    "learned, continuous, shared encoder": (
        CONTINUOUS,
        aligned({"shared": True}, Learned(), {"network": SMALL}),
        {},
    ),
    "given, shared encoder, action values": (
        DISCRETE,
        aligned({"kind": "action-value", "shared": True}, Given(), {"network": SMALL}),
        {},
    ),
    "given, continuous, clipped": (
        CONTINUOUS,
        aligned({"network": SMALL}, Given(), {"network": SMALL, "advantage_clip": 1.0}, past_clip=1.0),
        {},
    ),
}


def iterated(experiment: Experiment) -> tuple[Any, Any, dict[str, Array]]:
    def run() -> Any:
        before = loop.start(experiment)
        after, metrics = loop.iterate(experiment, before)
        return before.learners, after.learners, metrics

    found: tuple[Any, Any, dict[str, Array]] = quick_jit(run)()
    return found


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_every_way_learns(way: str) -> None:
    (name, settings), agent, how = WAYS[way]
    experiment = make_experiment(make_game(name, **settings), agent, batch=4, **how)
    before, after, metrics = iterated(experiment)
    assert len(after) == (2 if how.get("share") is False else 1)
    for leaf in jax.tree.leaves(eqx.filter(after, eqx.is_inexact_array)):
        assert bool(jnp.all(jnp.isfinite(leaf)))
    assert all(bool(jnp.isfinite(value)) for value in metrics.values())
    for old, new in zip(before, after, strict=True):
        assert largest(jax.tree.map(jnp.subtract, old.policy, new.policy)) > 0
        assert largest(jax.tree.map(jnp.subtract, old.critic, new.critic)) > 0
        if agent.learner.critic.target_tau < 1:
            moved = largest(jax.tree.map(jnp.subtract, old.target, new.target))
            assert 0 < moved < 0.02 * largest(jax.tree.map(jnp.subtract, old.critic, new.critic))
    if len(after) == 2:  # they are two, not one twice
        assert largest(jax.tree.map(jnp.subtract, after[0].policy, after[1].policy)) > 0


@pytest.mark.long
@pytest.mark.parametrize("other", ["tit-for-tat", "adalign"])
def test_it_learns_beside_players_of_another_kind(other: str) -> None:
    """Its own critic reads the others' view and rewards; what they remember and record is theirs."""
    game = make_game("prisoners-dilemma", horizon=3)
    shape = {
        "learner.network": "mlp",
        "learner.network.encoder.stack": 2,
        "learner.critic.network": "tabular",
    }
    opponent = make_agent(other, game, **(shape if other == "adalign" else {}))
    agent = aligned({})
    before, after, metrics = iterated(make_experiment(game, (agent, opponent), batch=4))
    assert bool(metrics["finite"])
    assert largest(jax.tree.map(jnp.subtract, before[0].policy, after[0].policy)) > 0


# ---- Bad input, refused before anything is compiled ----------------------------------------------------

CLASSES = [AdvantageAlignment, ProximalAdvantageAlignment]
NAMES = ["adalign", "proximal-adalign"]


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -float("inf")])
def test_a_weight_that_is_not_finite(weight: float) -> None:
    for cls, name in zip(CLASSES, NAMES, strict=True):
        with pytest.raises(ComityError, match=r"weight = .* must be a finite number"):
            cls(term=Alignment(weight=weight))
        with pytest.raises(ComityError, match=r"weight = .* must be a finite number"):
            make_agent(name, **{"term.weight": weight})
        with pytest.raises(ComityError, match=r"agents\[0\].*weight = .* a finite number"):
            agent_from_data({"name": name, "term": {"weight": weight}}, "matrix", "agents[0]")


@pytest.mark.parametrize("cases", [("mean",), ("cooperative", "kind"), "vengeful"])
@pytest.mark.usefixtures("unchecked")
def test_a_mask_that_does_not_exist(cases: Any) -> None:
    allowed = "one of cooperative, empathetic, vengeful, spiteful"
    for cls, name in zip(CLASSES, NAMES, strict=True):
        with pytest.raises(ComityError, match=allowed):
            cls(term=Alignment(masked_cases=cases))
        data = {"name": name, "term": {"masked_cases": cases if isinstance(cases, str) else list(cases)}}
        with pytest.raises(ComityError, match="must be a list" if isinstance(cases, str) else allowed):
            agent_from_data(data, "matrix", "agents[0]")


@pytest.mark.parametrize(
    "settings",
    [
        {"learner.discount": 1.5},
        {"term.past.past_discount": -0.1},
        {"learner.gae_lambda": 2.0},
        {"learner.critic.target_tau": 0.0},
        {"learner.optimiser.learning_rate": 0.0},
        {"learner.optimiser.max_grad_norm": -1.0},
        {"learner.critic.kind": "both"},
        {"learner.normalise_advantages": "always"},
        {"term.goodwill": float("inf")},
    ],
)
def test_other_settings_out_of_range(settings: dict[str, Any]) -> None:
    (path,) = settings
    field = path.rpartition(".")[2]
    given = {"term.past": "separate", **settings} if field == "past_discount" else settings
    for name in NAMES:
        with pytest.raises(ComityError, match=f"{field} = .* is not possible: it must be"):
            make_agent(name, **given)


def test_choices_that_do_not_exist() -> None:
    for name in NAMES:
        with pytest.raises(ComityError, match=r"past named 'yesterday'\. There are: .*averaged"):
            make_agent(name, **{"term.past": "yesterday"})
        with pytest.raises(ComityError, match=r"values .* named 'stolen'\. There are: .*learned"):
            make_agent(name, opponent_values="stolen")


def test_a_table_cannot_read_numbers() -> None:
    negotiation = make_game("negotiation")
    for name in NAMES:
        for part in ("learner.network", "learner.critic.network"):
            agent = make_agent(name, negotiation, **{part: "tabular"})
            with pytest.raises(ComityError, match="tabular network needs a discrete observation"):
                make_experiment(negotiation, agent)


def test_action_values_need_choices() -> None:
    for name in NAMES:
        agent = make_agent(name, **{"learner.critic.kind": "action-value"})
        with pytest.raises(ComityError, match=r"needs discrete actions.*use critic.kind value"):
            make_experiment(make_game("negotiation"), agent)


def test_given_values_need_players_that_record_them() -> None:
    game = make_game("prisoners-dilemma", horizon=3)
    agent = plain(opponent_values=Given())
    experiment = make_experiment(game, (agent, make_agent("tit-for-tat", game)), batch=2)
    with pytest.raises(ComityError, match="use own-view or learned"):
        jax.eval_shape(lambda: loop.iterate(experiment, loop.start(experiment)))


def test_an_own_view_needs_others_that_see_the_same() -> None:
    agent = aligned({"network": SMALL}, learner={"network": SMALL})
    experiment = make_experiment(make_game("probe-odd-seats"), agent, share=False, batch=2)
    with pytest.raises(ComityError, match="own-view"):
        jax.eval_shape(lambda: loop.iterate(experiment, loop.start(experiment)))
