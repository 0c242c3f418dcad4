"""The oracle: a whole evaluation, and its rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.evaluation.record import Outcome
from proctor.launch import evaluate

from .conftest import Probe

POLICIES = Path(__file__).parents[3] / "examples" / "policies"
ONE_ARM = ("lift", "stack", "can", "milk", "bread", "cereal", "square", "door")


@pytest.mark.sim
@pytest.mark.process
def test_an_evaluation_of_the_oracle_lifts_the_cube(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = evaluate(
        str(POLICIES / "robosuite_oracle.py:RobosuiteOracle"),
        benchmark="robosuite-v1",
        tasks=("lift",),
        episodes=1,
        workers=1,
        name="run",
    )
    assert [record.outcome for record in results.records] == [Outcome.SUCCESS]


@pytest.mark.sims
def test_the_oracle_solves_every_task_of_one_arm(probe: Probe) -> None:
    steps = probe("oracle " + " ".join(f"{task}:5" for task in ONE_ARM))
    assert sum(step > 0 for task in steps.values() for step in task) >= 38


@pytest.mark.sims
def test_the_oracle_lifts_the_pot_with_two_arms(probe: Probe) -> None:
    assert sum(step > 0 for step in probe("oracle two-arm-lift:5")["two-arm-lift"]) >= 4
