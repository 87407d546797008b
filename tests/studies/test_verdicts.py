"""Every study's page begins with what its numbers say, in at least two sentences."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from comity.studies.base import Results, Study
from comity.studies.claim_study import ClaimStudy
from comity.studies.harvest import Harvest, harvest_verdict
from comity.studies.registry import STUDIES, study_class
from comity.studies.retrain import retrain_verdict


def verdict_of(study: Study, monkeypatch: pytest.MonkeyPatch, out: Path) -> str:
    """The verdict of a study's page from its committed results, without pictures of what was played."""
    given: list[str] = []

    def keep(study: Study, results: Results, out: Path, verdict: str, parts: Sequence[str]) -> Path:
        given.append(verdict)
        return out

    monkeypatch.setattr(Study, "write_page", keep)
    monkeypatch.setattr("comity.studies.harvest_scripted._replays", lambda *arguments: "")
    study.page({"leagues": {}, **study.committed_results()}, out)  # leagues are not committed
    return given[0]


def drawn_from_committed() -> list[str]:
    """Studies whose page needs nothing but the committed results."""
    played = (ClaimStudy, Harvest)  # they play their players again
    return [name for name in STUDIES.rows() if not issubclass(study_class(name), played)]


@pytest.mark.parametrize("name", drawn_from_committed())
def test_the_verdict_is_about_the_numbers(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cls = study_class(name)
    said = verdict_of(cls(), monkeypatch, tmp_path)
    assert len(re.findall(r"\.(?: |$)", said)) >= 2, said  # two sentences at least
    assert re.search(r"\d", said)
    assert said not in (cls.note, cls.title)


def test_the_best_learner_is_named_by_its_harvest() -> None:
    def row(player: str, company: str, collective: float, focal: float, others: float) -> dict[str, Any]:
        seeds = [{"collective": collective, "focal": focal, "others": others}]
        return {"player": player, "company": company, "seeds": seeds}

    rows = [
        row("PPO", "itself", 70, 10, 10),
        row("Proximal AdAlign", "itself", 150, 21, 21),
        row("random", "itself", 900, 100, 100),  # no learner
        row("PPO", "2 greedy", 70, 11.5, 6),
        row("Proximal AdAlign", "2 greedy", 75, 9.0, 16),
    ]
    assert harvest_verdict(rows) == (
        "Of the learners, Proximal AdAlign harvests most with its own kind, 150 apples against 70 of PPO. "
        "Beside 2 greedy players PPO keeps most, 11.5 each while these get 6.0."
    )


def test_the_committed_harvest_has_a_verdict() -> None:
    said = harvest_verdict(Harvest().committed_results()["rows"])
    assert said.startswith("Of the learners, PPO, summed rewards harvests most with its own kind, 321 apples")


def test_a_run_outside_its_bounds_is_named() -> None:
    rows = {"coin/adalign/0": {"holds": {"self": True}}, "coin/loqa/0": {"holds": {"self": False}}}
    said = retrain_verdict(rows)
    assert said.startswith(
        "1 of 2 runs are within their bounds in every score; coin/loqa/0 left them. Of the"
    )
