"""What pages begin with: what the numbers say, in two sentences, and no more than they say."""

from collections.abc import Sequence

import numpy as np

from comity.evaluate.clusters import Clusters
from comity.evaluate.comparison import Score, improvement, ranked, settled, trend
from comity.evaluate.curves import Metrics
from comity.evaluate.influence import Influence
from comity.evaluate.league import League
from comity.evaluate.standing import Standing, standings
from comity.evaluate.statistics import Interval, bootstrap_mean


def words(metric: str) -> str:
    """A metric's name as a reader says it."""
    named = {
        "reward": "reward per step",
        "episode_return": "return per episode",
        "shaped_reward": "shaped reward per step (what is learned from)",
    }
    return named.get(metric, metric.replace("_", " ").replace("/", ": "))


def number(value: float) -> str:
    """A number with as many digits as can be read."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"


def interval(found: Interval) -> str:
    """A mean with its interval, if it has one."""
    if found.low == found.high:
        return number(found.mean)
    return f"{number(found.mean)} [{number(found.low)}, {number(found.high)}]"


def seeds(count: int) -> str:
    """How many runs a mean is of."""
    return "1 seed" if count == 1 else f"{count} seeds"


def run_verdict(
    agents: str, game: str, runs: Sequence[Metrics], finals: Sequence[float], metric: str, iterations: int
) -> str:
    """What a run, or several seeds of it, reached, and whether it was still changing."""
    if not finals:
        return f"{agents} has not logged anything in {game} yet. Train it further: comity train --resume."
    mean = bootstrap_mean(np.asarray(finals))
    over = "" if len(finals) == 1 else f" (mean of {seeds(len(finals))}, 95% interval)"
    first = (
        f"In the last tenth of its {iterations} iterations {agents} has a {words(metric)} of {interval(mean)}"
    )
    return f"{first}{over} in {game}. {_change(runs, metric)}"


def _change(runs: Sequence[Metrics], metric: str) -> str:
    found = trend(runs, metric)
    if found is None:
        return "It is too short to say whether it was still changing."
    first, before, last = found
    moved = f"It began at {number(first)}"
    scale = max(abs(last - first), abs(before - first))
    if abs(last - before) <= 0.05 * scale or abs(last - before) < 1e-6 * max(abs(last), 1.0):
        return f"{moved} and no longer changed much at the end."
    how = "rising" if last > before else "falling"
    return f"{moved} and was still {how} at the end, by {number(abs(last - before))} in its last tenth."


def league_verdict(league: League, among: Sequence[str] = ()) -> str:
    """Who cooperates without being exploited, as far as this league can tell; of `among`, if given."""
    table = [row for row in standings(league) if not among or row.player in among]
    best = table[0]
    if among:
        return f"Head to head {_stands(best, len(table))}."
    if len(table) == 1:
        return (
            f"{best.player} earns {number(best.self_play)} per step with its own kind. "
            "Who could exploit it is not known: it met nobody else."
        )
    most = max(table, key=lambda row: row.self_play)
    first = f"{_stands(best, len(table))}."
    if most.player == best.player:
        rest = [row for row in table if row.exploitation > _much(league)]
        if not rest:
            return f"{first} Nobody here is exploited by more than {number(_much(league))} per step."
        fool = max(rest, key=lambda row: row.exploitation)
        return f"{first} Most exploited is {fool.player}: {fool.exploiter} {_more(fool)} when they meet."
    return (
        f"{first} {most.player} earns more with its own kind ({number(most.self_play)}), but "
        f"{_exploited(most)}."
    )


def _stands(row: Standing, count: int) -> str:
    best = f"{row.player} stands best: it" if count > 1 else row.player
    return f"{best} earns {number(row.self_play)} per step with its own kind, and {_exploited(row)}"


def _much(league: League) -> float:
    """A twentieth of the span of the league's rewards: less is not called exploitation."""
    return 0.05 * float(league.mean.max() - league.mean.min())


def _more(row: Standing) -> str:
    return f"earns {number(row.exploitation)} more"


def _exploited(row: Standing) -> str:
    if not row.exploiter:
        return "nobody here earns more than it when they meet"
    return f"at worst {row.exploiter} {_more(row)} than it when they meet"


def comparison_verdict(found: Sequence[Score], metric: str, league: League | None, minimise: bool) -> str:
    """Which kind of run is best by a metric, how surely, and what the league adds."""
    order = ranked(found, minimise)
    best = order[0]
    counts = sorted({len(score.runs) for score in found})
    each = seeds(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    if len(order) == 1:
        first = f"{best.name} ends with a {words(metric)} of {interval(best.mean)} over {each}."
    else:
        second = order[1]
        likely = improvement(best, second, minimise).mean
        ahead = (
            f"{best.name} ends with the {'lowest' if minimise else 'highest'} {words(metric)}, "
            f"{interval(best.mean)} against {interval(second.mean)} of {second.name}"
        )
        if best.mean.mean == second.mean.mean:
            first = f"{best.name} and {second.name} end with the same {words(metric)}, {interval(best.mean)}."
        elif settled(best, second):
            first = f"{ahead}; the intervals of {each} lie apart."
        else:
            do = "does" if counts == [1] else "do"
            first = f"{ahead}; {each} of a kind {do} not settle it (probability of improvement {likely:.2f})."
    if league is not None:
        return f"{first} {league_verdict(league, [score.name for score in found])}"
    return f"{first} {_spread(order, metric)}"


def _spread(order: Sequence[Score], metric: str) -> str:
    worst = order[-1]
    if len(order) == 1:
        low, high = min(worst.runs), max(worst.runs)
        return f"Its runs lie between {number(low)} and {number(high)}."
    return f"Last is {worst.name} with {interval(worst.mean)}."


def episodes_verdict(found: Clusters, influence: Influence | None) -> str:
    """Of how many kinds episodes are, and whose presence is felt most."""
    count, first = len(found.labels), found.clusters[0]
    if len(found.clusters) == 1:
        kinds = f"All {count} episodes are of one kind."
    else:
        kinds = (
            f"{count} episodes are of {len(found.clusters)} kinds; the largest, {first.share:.0%} of them, "
            f"is set apart by {first.typical[0]}."
        )
    if influence is None:
        earned = ", ".join(number(reward) for reward in first.reward)
        return f"{kinds} In the largest kind the seats earn {earned} per step."
    effect = np.where(influence.certain, influence.effect, 0.0)
    source, target = np.unravel_index(np.argmax(np.abs(effect)), effect.shape)
    if effect[source, target] == 0:
        return f"{kinds} No player surely helps or harms another, against {influence.baseline} in its place."
    how = "helps" if effect[source, target] > 0 else "harms"
    return (
        f"{kinds} Most felt is {influence.names[source]}: against {influence.baseline} in its place it {how} "
        f"{influence.names[target]} by {number(abs(float(effect[source, target])))} per step."
    )
