"""Every study's page begins with what its numbers say, in at least two sentences."""

import re
from pathlib import Path
from typing import Any

import pytest

from comity.studies.base import Study
from comity.studies.claim_study import ClaimStudy
from comity.studies.harvest import harvest_verdict
from comity.studies.registry import STUDIES, study_class
from comity.studies.retrain import retrain_verdict


def verdict_of(study: Study, monkeypatch: pytest.MonkeyPatch, out: Path) -> str:
    """The verdict of a study's page from its committed results, without pictures of what was played."""
    given: list[str] = []
    monkeypatch.setattr(Study, "write_page", lambda self, results, out, verdict, parts: given.append(verdict))
    for module in ("harvest", "harvest_scripted"):
        monkeypatch.setattr(f"comity.studies.{module}._replays", lambda *arguments: "")
    study.page(study.committed_results(), out)
    return given[0]


@pytest.mark.parametrize(
    "name", [name for name in STUDIES.rows() if not issubclass(study_class(name), ClaimStudy)]
)
def test_the_verdict_is_about_the_numbers(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cls = study_class(name)
    said = verdict_of(cls(), monkeypatch, tmp_path)
    assert len(re.findall(r"[.!] [A-Z\d]|\.$", said)) >= 2, said  # two sentences at least
    assert re.search(r"\d", said)
    assert said not in (cls.note, cls.title)


def test_the_best_learner_is_named_by_its_harvest() -> None:
    def row(player: str, company: str, collective: float, focal: float, others: float) -> dict[str, Any]:
        seeds = [{"collective": collective, "others": others}]
        return {"player": player, "company": company, "focal": [focal], "seeds": seeds}

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


def test_a_run_outside_its_bounds_is_named() -> None:
    rows = {"coin/adalign/0": {"holds": {"self": True}}, "coin/loqa/0": {"holds": {"self": False}}}
    said = retrain_verdict(rows)
    assert said.startswith(
        "1 of 2 runs are within their bounds in every score; coin/loqa/0 left them. Of the"
    )
