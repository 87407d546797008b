"""A cooperative game as plain data."""

from comity.theory.analysis.plain import Report, attempt, plain
from comity.theory.cooperative.banzhaf import banzhaf
from comity.theory.cooperative.coalitional import CoalitionalGame
from comity.theory.cooperative.cores import core, least_core
from comity.theory.cooperative.nucleolus import nucleolus
from comity.theory.cooperative.properties import is_convex, is_monotone, is_superadditive
from comity.theory.cooperative.shapley import shapley


def analyse_coalitions(game: CoalitionalGame) -> Report:
    """Values, core, nucleolus and structure of a cooperative game."""
    notes: list[str] = []
    report: Report = {
        "title": game.title,
        "players": list(game.players),
        "worth": float(game.worth[-1]),
        "structure": {
            "monotone": is_monotone(game),
            "convex": is_convex(game),
            "superadditive": attempt(notes, "superadditive", lambda: is_superadditive(game)),
        },
        "shapley": plain(shapley(game)),
        "banzhaf": plain(banzhaf(game)),
    }
    found = attempt(notes, "core", lambda: core(game))
    if found is not None:
        report["core"] = {"empty": found.point is None, "point": plain(found.point)}
        if found.proof is not None:
            report["core"]["proof"] = {
                "weights": {",".join(game.coalition(s)): w for s, w in found.proof.weights.items()},
                "worth": found.proof.worth,
            }
        least = least_core(game)
        report["least_core"] = {"excess": least.excess, "point": plain(least.point)}
        report["nucleolus"] = plain(attempt(notes, "nucleolus", lambda: nucleolus(game)))
        report["prenucleolus"] = plain(attempt(notes, "prenucleolus", lambda: nucleolus(game, False)))
    report["notes"] = notes
    return report
