"""What worlds of discs look like."""

from typing import Any

import numpy as np

from comity.core import palette
from comity.core.scene import Disc, Legend, Note, Plane, Scene, Shape, Stack, pale

COLOURS = {
    "landmark": palette.EDGE,
    "obstacle": palette.LABEL,
    "food": "#6b8e23",
    "forest": pale("#009e73", 0.3),
}
SIGNS = {"landmark": "x", "obstacle": "#", "food": "*", "forest": "~"}


def world(game: Any, state: Any) -> Scene:
    """Agents as discs with their numbers, what stands still by its name, goals as rings, words as text."""
    agents, landmarks = game.agents, game.landmarks
    places, colours = np.asarray(state.position, np.float64), palette.series(len(agents))
    discs = []
    # Forests are large and lie below all else.
    for i, body in sorted(enumerate(landmarks), key=lambda found: -found[1].size):
        x, y = places[len(agents) + i].tolist()
        shape: Shape = "disc" if body.name == "forest" else "square"
        discs.append(Disc(x, y, body.size, COLOURS[body.name], "", shape, SIGNS[body.name]))
    entries = [(COLOURS[name], name) for name in dict.fromkeys(body.name for body in landmarks)]
    for i, (goal, size) in enumerate(zip(np.asarray(state.goals).tolist(), game.goal_sizes, strict=True)):
        if size == len(landmarks):
            x, y = places[len(agents) + goal].tolist()
            radius = landmarks[goal].size + 0.05 + 0.04 * i
            discs.append(Disc(x, y, radius, palette.PURPLE, "", "ring", "O"))
            entries += [(palette.PURPLE, "goal")] if i == 0 else []
    for i, body in enumerate(agents):
        x, y = places[i].tolist()
        discs.append(Disc(x, y, max(body.size, 0.07), colours[i], f"{i + 1}"))
    farthest = float(np.abs(places).max())
    reach = next((edge for edge in (1.15, 1.6, 2.2) if farthest < edge), 3.0)  # few steps: it seldom changes
    said = [
        (f"{body.name} says {spoken(words)}   ", colours[i])
        for i, (body, words) in enumerate(zip(agents, np.asarray(state.speech), strict=True))
        if body.speaks
    ]
    notes = (Note(tuple(said)),) if said else ()
    return Stack((Plane(tuple(discs), reach), Legend(tuple(entries)), *notes))


def spoken(words: np.ndarray) -> str:
    """What was said: a letter for one word, numbers for a mixture, nothing for silence."""
    if not words.any():
        return "nothing"
    if sorted(words.tolist()) == [0.0] * (len(words) - 1) + [1.0]:
        return chr(ord("a") + int(words.argmax()))
    return " ".join(f"{word:.2f}" for word in words)
