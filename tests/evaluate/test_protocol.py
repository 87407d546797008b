"""Protocols of the signalling game: a convention means what it says, and babble means nothing."""

import numpy as np
import pytest

from comity.api import scripted_player
from comity.evaluate.protocol import Protocol, measure_protocol
from comity.games.signalling import Signalling


def measured(game: Signalling, speaker: str, listener: str) -> Protocol:
    return measure_protocol(game, (scripted_player(speaker, game, 0), scripted_player(listener, game, 1)))


def test_a_convention() -> None:
    found = measured(Signalling(values=4), "convention", "convention")
    assert (found.accuracy, found.reward) == (1.0, 1.0)
    assert found.information == pytest.approx(2.0, abs=0.01)
    assert found.chance < 0.02
    assert [found.positional, found.bag_of_symbols] == pytest.approx([1.0, 1.0])
    assert found.influence == pytest.approx(2.0)  # four messages, four different guesses
    assert found.reward_per_bit == pytest.approx(0.75 / 2)
    assert found.dictionary == {(i,): {(i,): 1.0} for i in range(4)}


def test_attributes_in_their_places() -> None:
    found = measured(Signalling(attributes=2, values=4, length=2), "convention", "convention")
    assert found.topographic == pytest.approx(1.0)
    assert found.positional == pytest.approx(1.0, abs=0.01)
    assert found.influence is None  # several choices


def test_who_babbles_says_nothing_and_who_does_not_listen_is_not_moved() -> None:
    game = Signalling(values=4)
    nonsense = measured(game, "babbler", "convention")
    assert nonsense.accuracy == pytest.approx(0.25, abs=0.04)
    assert nonsense.information == pytest.approx(nonsense.chance, abs=0.01)
    assert nonsense.influence == pytest.approx(2.0)  # it would listen if something were said
    deaf = measured(game, "convention", "babbler")
    assert deaf.information == pytest.approx(2.0, abs=0.01)
    assert deaf.influence == pytest.approx(0.0, abs=0.01)
    assert np.isclose(deaf.reward_per_bit, (deaf.reward - 0.25) / 2)
