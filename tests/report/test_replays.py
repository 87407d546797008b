"""Replays: an episode moment by moment, its frames, and the files that are written of it."""

import io
import json
import re

import numpy as np
import pytest
from PIL import Image

import comity
from comity.core.errors import ComityError
from comity.core.scene import Pixels
from comity.core.trust import trust
from comity.drawing.text import write
from comity.evaluate.replay import replay
from comity.games.transforms import SharedReward, TimeLimit, TremblingHand
from comity.play.match import play
from comity.report import replays
from comity.report.replays import frames, moment_scene, save_replay

DILEMMA = comity.make_game("prisoners-dilemma", horizon=4)


def scripted(*names, game=DILEMMA):
    return tuple(comity.scripted_player(name, game, seat) for seat, name in enumerate(names))


@pytest.fixture(scope="module")
def betrayed():
    """Tit-for-tat against always-defect: 0 and -3, then -2 for both."""
    players = scripted("tit-for-tat", "always-defect")
    return replay(DILEMMA, players, names=("polite", "rude"), title="dilemma")


def test_moments_are_what_was_played(betrayed):
    assert [moment.step for moment in betrayed.moments] == [0, 1, 2, 3, 4]
    assert [[int(a) for a in m.actions] for m in betrayed.moments[1:]] == [[0, 1], [1, 1], [1, 1], [1, 1]]
    assert betrayed.moments[1].reward == (-3.0, 0.0)
    assert betrayed.moments[-1].total == (-9.0, -6.0)
    assert [moment.over for moment in betrayed.moments] == [False] * 4 + [True]
    assert betrayed.moments[0].actions == (None, None)


def test_a_frame_says_who_did_what(betrayed):
    text = write(moment_scene(betrayed, 1)).plain
    assert "step 1 of 4" in text
    assert "[-3  0]" in text  # the cell that was chosen
    assert re.search(r"player 1 +polite +C +-3\.00 +-3\.00", text)
    assert re.search(r"player 2 +rude +D +\+0\.00 +0\.00", text)
    assert re.search(r"player 1 CDDD", write(moment_scene(betrayed, 4)).plain)


def test_frames_are_of_one_size_and_large_enough(betrayed):
    shapes = {frame.shape for frame in frames(betrayed)}
    assert len(shapes) == 1
    assert min(shapes)[1] >= 400
    assert len(frames(betrayed, every=3)) == 3  # the first, the fourth and the last


def test_the_same_seed_is_the_same_episode():
    game = comity.make_game("coin", horizon=5)
    players = scripted("random", "random", game=game)
    first, again, other, another = (
        [moment.actions for moment in replay(game, players, seed, episode=episode).moments[1:]]
        for seed, episode in ((3, 0), (3, 0), (4, 0), (3, 1))
    )
    assert first == again
    assert first != other
    assert first != another


def test_players_with_a_memory_act_as_in_matches():
    """Against an unconditional player nothing is random: both ways to play must agree."""
    import jax

    players = scripted("grim-trigger", "always-defect")
    told = play(DILEMMA, players, jax.random.key(0), 1, 4)
    seen = replay(DILEMMA, players)
    assert [m.reward[0] for m in seen.moments[1:]] == np.asarray(told.step.reward[0])[:, 0].tolist()


def test_transforms_pass_drawings_on():
    inside = TimeLimit(game=SharedReward(game=TremblingHand(game=DILEMMA, probability=0.0)), horizon=2)
    seen = replay(inside, scripted("tit-for-tat", "always-defect"))
    assert len(seen.moments) == 3
    assert "[-3  0]" in write(moment_scene(seen, 1)).plain


def test_who_waits_is_shown_as_waiting():
    game = comity.make_game("alternating-offers")
    seen = replay(game, scripted("greedy", "fair", game=game))
    assert seen.moments[1].actions[1] is None
    assert re.search(r"second +waits", write(moment_scene(seen, 1)).plain)


def test_files(betrayed, tmp_path):
    for name, kind in (("a.gif", "GIF"), ("a.webp", "WEBP")):
        save_replay(betrayed, tmp_path / name, fps=5)
        with Image.open(tmp_path / name) as image:
            assert image.format == kind
            assert getattr(image, "n_frames", 1) == 5
            assert image.width >= 400
    save_replay(betrayed, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert image.width >= 1600
    save_replay(betrayed, tmp_path / "a.html", fps=5)
    page = (tmp_path / "a.html").read_text()
    assert "dilemma: polite, rude" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    data = re.search(r"milliseconds = 200, frames = (\[.*?\]);", page)
    assert data is not None
    assert len(json.loads(data[1])) == 5
    with pytest.raises(ComityError, match=r"\.webp, \.png or \.html works"):
        save_replay(betrayed, tmp_path / "a.doc")
    assert not (tmp_path / "a.doc").exists()


def test_a_gif_keeps_the_colours_of_the_seats(betrayed):
    picture = Image.open(io.BytesIO(replays.animation(frames(betrayed)))).convert("RGB")
    colours = np.asarray(picture).reshape(-1, 3).astype(int)
    for own in ([0, 114, 178], [213, 94, 0]):
        assert (np.abs(colours - own).sum(axis=1) < 20).sum() > 20


@pytest.mark.parametrize("workers", [0, 1])
def test_environments_that_render_are_drawn(workers):
    name = "tests.bridges.environments:make_painter"
    trust(name)
    game = comity.make_game(name, workers=workers)
    seen = replay(game, scripted("random", game=game), length=3)
    shades = [moment.scene.image[0, 0, 0] for moment in seen.moments if isinstance(moment.scene, Pixels)]
    assert shades == [0, 10, 20, 30]


def test_environments_that_do_not_render_are_told_by_numbers():
    name = "tests.bridges.environments:make_corridor"
    trust(name)
    game = comity.make_game(name, workers=0)
    seen = replay(game, scripted("random", "random", "random", game=game), length=2)
    assert seen.moments[-1].scene is None
    assert "step 2" in write(moment_scene(seen, 2)).plain


def test_games_draw_themselves_for_pettingzoo():
    from comity.bridges.pettingzoo import to_pettingzoo

    env = to_pettingzoo(comity.make_game("coin"), render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape[2] == 3
    env = to_pettingzoo(comity.make_game("coin"), render_mode="ansi")
    env.reset(seed=0)
    assert "the coin is player" in env.render()
    with pytest.raises(ComityError, match="render_mode"):
        to_pettingzoo(comity.make_game("coin"), render_mode="human")


def test_a_replay_shows_itself_and_can_be_saved(tmp_path):
    shown = comity.replay(DILEMMA, {"polite": "tit-for-tat", "rude": "always-defect"}, steps=2)
    assert repr(shown) == "<Replay of matrix: polite, rude, 2 steps>"
    assert shown.moments[-1].total == (-5.0, -2.0)
    page = shown._repr_html_()
    assert page.startswith('<img alt="Replay of matrix: polite, rude, 2 steps" src="data:image/gif;base64,')
    shown.save(tmp_path / "replay.gif")
    with Image.open(tmp_path / "replay.gif") as moving:
        assert getattr(moving, "n_frames", 1) == 3


def test_players_of_a_replay_are_named_and_fill_the_seats():
    listed = comity.replay("prisoners-dilemma", ["tit-for-tat", "tit-for-tat"], steps=1)
    assert listed.players == ("tit-for-tat", "tit-for-tat")
    assert listed.title == "prisoners-dilemma"
    assert comity.replay(DILEMMA, {"alone": "tit-for-tat"}, steps=1).players == ("alone", "alone")
    with pytest.raises(ComityError, match="3 players cannot fill 2 seats"):
        comity.replay(DILEMMA, ["tit-for-tat"] * 3)
