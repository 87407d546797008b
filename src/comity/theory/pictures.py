"""Figures of games: payoff regions, best responses, phase portraits.

Every function takes plain arrays or a game and returns a Matplotlib figure, which is imported only here
and only when a figure is drawn. Save one with `figure.savefig("name.png")`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from comity.core.palette import BLUE, GUIDE, INK, PAPER, SEQUENTIAL, VERMILION
from comity.theory.dynamics.replicator import replicator_velocity, run_replicator, run_two_populations
from comity.theory.dynamics.stability import Stability, population_stability, populations_stability
from comity.theory.equilibria.vertex_enumeration import vertex_enumeration
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import Equilibrium, NormalFormGame, numbers
from comity.theory.normal_form.structure import is_symmetric
from comity.theory.repeated.folk_theorem import payoff_region

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def blank(title: str, size: tuple[float, float] = (5.6, 5.2)) -> tuple["Figure", Any]:
    """A figure with one pair of axes that needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title)
    return figure, axes


def draw_payoff_region(game: NormalFormGame, equilibria: Sequence[Equilibrium] | None = None) -> "Figure":
    """Feasible payoffs, the part that both players find rational, pure outcomes and equilibria."""
    region = payoff_region(game)
    found = vertex_enumeration(game) if equilibria is None else equilibria
    figure, axes = blank(game.title or "Payoff region")
    for polygon, colour, label in (
        (region.feasible, GUIDE, "feasible"),
        (region.rational, BLUE, "individually rational"),
    ):
        if len(polygon) > 0:
            axes.fill(*polygon.T, facecolor=colour, edgecolor=colour, alpha=0.3, linewidth=2, label=label)
    points = np.unique(game.payoffs.reshape(2, -1).T, axis=0)
    axes.scatter(*points.T, s=28, color=INK, zorder=3, label="pure outcomes")
    for axis, value in (("v", region.minimax[0]), ("h", region.minimax[1])):
        line = axes.axvline if axis == "v" else axes.axhline
        line(value, color=BLUE, linestyle=":", linewidth=1, label="minimax" if axis == "v" else None)
    if found:
        earned = np.array([e.payoffs for e in found])
        axes.scatter(
            *earned.T, s=110, marker="o", facecolor="none", edgecolor=VERMILION, linewidth=2, zorder=4,
            label="equilibria",
        )  # fmt: skip
    axes.set_xlabel(f"payoff of {game.players[0]}")
    axes.set_ylabel(f"payoff of {game.players[1]}")
    axes.margins(0.1)
    axes.legend(loc="best", fontsize=8)
    return figure


def response_curve(gain: Float[np.ndarray, "2"]) -> np.ndarray:
    """Corners of the best-response graph: [(q, p)], where action 0 gains gain[0] at q = 0, gain[1] at q = 1.

    q is the other's probability of action 0 and p one's own; along indifference p runs from 0 to 1.
    """
    at_zero, at_one = float(gain[0]), float(gain[1])
    if at_zero == 0.0 and at_one == 0.0:
        return np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], dtype=np.float64)
    if at_zero * at_one < 0.0:
        switch = at_zero / (at_zero - at_one)
        return np.array(
            [[0, at_zero > 0], [switch, at_zero > 0], [switch, at_one > 0], [1, at_one > 0]], float
        )
    best = float(at_zero + at_one > 0)
    corners = [[0.0, best], [1.0, best]]
    if at_zero == 0.0:
        corners.insert(0, [0.0, 1.0 - best])
    if at_one == 0.0:
        corners.append([1.0, 1.0 - best])
    return np.array(corners)


def draw_best_responses(game: NormalFormGame) -> "Figure":
    """Both players' best-response curves in a 2 x 2 game; they cross at the equilibria."""
    if game.num_actions != (2, 2):
        raise TheoryError(
            f"The game has {' x '.join(map(str, game.num_actions))} actions; best-response curves are for "
            "2 x 2 games."
        )
    row, column = game.payoffs
    figure, axes = blank(game.title or "Best responses")
    own = response_curve((row[0] - row[1])[::-1])  # at q = 0 the column player plays action 1
    other = response_curve((column[:, 0] - column[:, 1])[::-1])
    axes.plot(own[:, 1], own[:, 0], color=BLUE, linewidth=3, label=f"{game.players[0]}'s best response")
    axes.plot(other[:, 0], other[:, 1], color=VERMILION, linewidth=3, linestyle="--",
              label=f"{game.players[1]}'s best response")  # fmt: skip
    crossings = np.array([[e.strategies[0][0], e.strategies[1][0]] for e in vertex_enumeration(game)])
    axes.scatter(*crossings.T, s=90, color=INK, zorder=4, clip_on=False, label="extreme equilibria")
    unit_axes(axes, game)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


def unit_axes(axes: Any, game: NormalFormGame) -> None:
    """Axes for both players' probabilities of their first actions."""
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(-0.04, 1.04)
    axes.set_aspect("equal")
    axes.set_xlabel(f"{game.players[0]} plays {game.actions[0][0]}")
    axes.set_ylabel(f"{game.players[1]} plays {game.actions[1][0]}")


def draw_flow(game: NormalFormGame, starts: int = 6, steps: int = 600) -> "Figure":
    """Replicator trajectories of a game of two players, with its rest points and whether they attract.

    2 x 2 games and 3 x 3 games: the latter, if symmetric, as one population on a triangle, otherwise as two
    populations, each on its own.
    """
    if game.num_actions == (2, 2):
        return draw_phase_portrait(game, starts, steps)
    if game.num_actions != (3, 3):
        shape = " x ".join(str(number) for number in game.num_actions)
        raise TheoryError(f"The game has {shape} actions; flows are drawn of 2 x 2 and 3 x 3 games.")
    if is_symmetric(game):
        title = f"Replicator dynamics: {game.title}" if game.title else ""
        return draw_simplex(game.payoffs[0], game.actions[0], title)
    return draw_two_simplices(game, steps)


def draw_phase_portrait(game: NormalFormGame, starts: int = 6, steps: int = 600) -> "Figure":
    """Two-population replicator trajectories of a 2 x 2 game, with their direction and equilibria."""
    if game.num_actions != (2, 2):
        shape = " x ".join(str(number) for number in game.num_actions)
        raise TheoryError(f"The game has {shape} actions; this phase portrait is for 2 x 2 games.")
    grid = np.linspace(0.08, 0.92, starts)
    x, y = (a.ravel() for a in np.meshgrid(grid, grid))
    path_x, path_y = _two_populations(game, np.stack([x, 1 - x], -1), np.stack([y, 1 - y], -1), steps)
    figure, axes = blank(f"Replicator dynamics: {game.title}" if game.title else "Replicator dynamics")
    draw_paths(axes, path_x[..., 0], path_y[..., 0])
    found = vertex_enumeration(game)
    spots = np.array([[e.strategies[0][0], e.strategies[1][0]] for e in found])
    mark_rest_points(figure, axes, spots, [_equilibrium_stability(game, e) for e in found])
    unit_axes(axes, game)
    return figure


def draw_two_simplices(game: NormalFormGame, steps: int = 600) -> "Figure":
    """Two-population replicator trajectories of a 3 x 3 game: each population on its own triangle."""
    coarse = barycentric_grid(6)
    inside = coarse[(coarse > 0.01).all(axis=1)]
    paths = _two_populations(game, inside, inside[::-1], steps)  # a few: one path is a curve in both
    found = vertex_enumeration(game)
    stability = [_equilibrium_stability(game, e) for e in found]
    figure, first = blank("", (10.4, 5.4))
    figure.suptitle(f"Replicator dynamics: {game.title}" if game.title else "Replicator dynamics")
    first.remove()
    for i, path in enumerate(paths):
        axes = figure.add_subplot(1, 2, i + 1)
        axes.set_title(game.players[i])
        spots = to_triangle(path)
        draw_paths(axes, spots[..., 0], spots[..., 1])
        triangle_axes(axes, game.actions[i])
        rest = to_triangle(np.array([e.strategies[i] for e in found]))
        mark_rest_points(figure if i == 0 else None, axes, rest, stability)
    return figure


def _two_populations(
    game: NormalFormGame, x: np.ndarray, y: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    width = float(np.ptp(game.payoffs)) or 1.0
    row, column = (jnp.asarray(table / width) for table in game.payoffs)
    start = (jnp.asarray(x, row.dtype), jnp.asarray(y, row.dtype))
    path_x, path_y = run_two_populations(row, column, start, steps, 0.03)
    return np.asarray(path_x), np.asarray(path_y)


def _equilibrium_stability(game: NormalFormGame, found: Equilibrium) -> Stability:
    row, column = game.payoffs
    return populations_stability(row, column, (found.strategies[0], found.strategies[1]))


def mark_rest_points(
    figure: "Figure | None", axes: Any, spots: Float[np.ndarray, "points 2"], stability: Sequence[Stability]
) -> None:
    """Rest points by whether they attract (`dynamics/stability.py`), with a legend in the figure."""
    colours = {"stable": INK, "neutral": GUIDE, "unstable": PAPER}
    for kind, colour in colours.items():
        chosen = spots[[own == kind for own in stability]] if len(spots) else spots
        if len(chosen):
            axes.scatter(
                *chosen.T, s=80, facecolor=colour, edgecolor=INK, zorder=4, linewidth=2, clip_on=False,
                label=kind,
            )  # fmt: skip
    if figure is not None:
        figure.legend(loc="outside lower center", ncols=3, fontsize=8, title="rest points, by the Jacobian")


def triangle_axes(axes: Any, names: Sequence[str]) -> None:
    """A triangle without axes, with the names of its corners."""
    edge = to_triangle(np.eye(3)[[0, 1, 2, 0]])
    axes.plot(*edge.T, color=INK, linewidth=1.5)
    for corner, name, shift, align in zip(
        edge, names, [(-0.03, -0.05), (0.03, -0.05), (0.0, 0.03)], ["right", "left", "center"], strict=False
    ):
        axes.text(corner[0] + shift[0], corner[1] + shift[1], name, ha=align, fontsize=11)
    axes.set_xlim(-0.12, 1.12)
    axes.set_ylim(-0.1, 1.02)
    axes.set_aspect("equal")
    axes.axis("off")


def draw_paths(axes: Any, x: Float[np.ndarray, "time starts"], y: Float[np.ndarray, "time starts"]) -> None:
    """Trajectories with an arrow near the beginning of each."""
    axes.plot(x, y, color=BLUE, linewidth=0.8, alpha=0.6)
    for k in range(x.shape[1]):
        travelled = np.cumsum(np.hypot(np.diff(x[:, k]), np.diff(y[:, k])))
        if travelled[-1] < 0.01:
            continue
        at = int(np.searchsorted(travelled, min(0.05, 0.5 * travelled[-1])))
        ahead = min(int(np.searchsorted(travelled, travelled[at] + 0.012)) + 1, len(x) - 1)
        axes.annotate(
            "", (x[ahead, k], y[ahead, k]), (x[at, k], y[at, k]),
            arrowprops={"arrowstyle": "-|>", "color": BLUE, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip


def to_triangle(points: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 2"]:
    """Barycentric coordinates in an equilateral triangle; 0 at the left, 1 at the right, 2 on top."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3.0) / 2.0]])
    return np.asarray(points, dtype=np.float64) @ corners


def draw_simplex(
    payoffs: Float[np.ndarray, "3 3"],
    names: Sequence[str] = ("1", "2", "3"),
    title: str = "",
    steps: int = 800,
) -> "Figure":
    """Replicator trajectories of three strategies in one population, over the speed of change."""
    table = numbers(payoffs, "payoffs")
    if table.shape != (3, 3) or len(names) != 3:
        raise TheoryError(
            f"payoffs has shape {table.shape} with {len(names)} names; a 3 x 3 table would work (restrict a "
            "larger game to three strategies)."
        )
    width = float(np.ptp(table)) or 1.0
    scaled = jnp.asarray(table / width)
    figure, axes = blank(title or "Replicator dynamics", (5.8, 5.2))
    fine = barycentric_grid(40)
    speed = np.linalg.norm(np.asarray(replicator_velocity(scaled, jnp.asarray(fine, scaled.dtype))), axis=1)
    spots = to_triangle(fine)
    shade = axes.tricontourf(spots[:, 0], spots[:, 1], speed, levels=14, cmap=SEQUENTIAL, alpha=0.55)
    figure.colorbar(shade, ax=axes, shrink=0.7, label="speed of change")
    coarse = barycentric_grid(8)
    start = coarse[(coarse > 0.01).all(axis=1)]
    paths = to_triangle(np.asarray(run_replicator(scaled, jnp.asarray(start, scaled.dtype), steps, 0.03)))
    draw_paths(axes, paths[..., 0], paths[..., 1])
    triangle_axes(axes, names)
    rest = rest_points(table)
    mark_rest_points(figure, axes, to_triangle(rest), [population_stability(table, point) for point in rest])
    return figure


def barycentric_grid(parts: int) -> Float[np.ndarray, "points 3"]:
    """All points of the simplex with coordinates in multiples of 1 / parts."""
    points = [(a, b, parts - a - b) for a in range(parts + 1) for b in range(parts + 1 - a)]
    return np.array(points) / parts


def rest_points(table: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "points 3"]:
    """Isolated rest points of the replicator dynamics: on each face, the mixture with equal payoffs."""
    found: list[np.ndarray] = []
    for face in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
        size = len(face)
        system = np.zeros((size + 1, size + 1))
        system[:size, :size] = table[np.ix_(face, face)]
        system[:size, size] = -1.0
        system[size, :size] = 1.0
        if abs(np.linalg.det(system)) > 1e-9:
            mixture = np.linalg.solve(system, np.eye(size + 1)[size])[:size]
            if (mixture > 1e-9).all():
                point = np.zeros(3)
                point[face] = mixture
                found.append(point)
    return np.array(found)
