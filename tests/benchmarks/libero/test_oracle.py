"""Whole evaluations: the oracle solves what no motion does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.evaluation.record import Outcome
from proctor.launch import evaluate

from .conftest import Probe, Turn

POLICIES = Path(__file__).parents[3] / "examples" / "policies"
TASKS = ("object-0", "spatial-0")
OF_OTHER_SUITES = {
    "libero-v1": ("goal-0", "goal-2", "goal-5", "goal-7", "10-0", "10-2", "10-4", "10-5"),
    "libero-90-v1": ("90-00", "90-02", "90-07", "90-22", "90-41", "90-63", "90-74"),
}
"""Drawers opened and closed, a stove turned on, a plate pushed, two things put, a pan, bowls, a book."""
EVERY = " ".join(f"{suite}-{number}:3" for suite in ("object", "spatial") for number in range(10))


@pytest.mark.sim
@pytest.mark.process
def test_an_evaluation_of_the_oracle_solves_a_task_of_both_suites(
    turn: Turn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with turn():
        results = evaluate(
            str(POLICIES / "libero_oracle.py:LiberoOracle"),
            benchmark="libero-v1",
            tasks=TASKS,
            episodes=1,
            workers=1,
            name="run",
        )
    assert {record.task: record.outcome for record in results.records} == dict.fromkeys(
        TASKS, Outcome.SUCCESS
    )


@pytest.mark.sims
def test_the_oracle_solves_most_of_both_suites(probe: Probe) -> None:
    steps = probe(f"oracle libero-v1 LiberoOracle {EVERY}")
    assert sum(step > 0 for task in steps.values() for step in task) >= 57


@pytest.mark.sims
@pytest.mark.parametrize("version", OF_OTHER_SUITES)
def test_the_oracle_does_more_than_put_one_thing(probe: Probe, version: str) -> None:
    tasks = OF_OTHER_SUITES[version]
    steps = probe(f"oracle {version} LiberoOracle " + " ".join(f"{task}:1" for task in tasks))
    assert sum(steps[task][0] > 0 for task in tasks) >= len(tasks) - 1


@pytest.mark.sims
def test_the_oracle_solves_tasks_with_targets(probe: Probe) -> None:
    steps = probe("oracle libero-xvla-v1 LiberoTargetOracle object-0:3 spatial-3:3")
    assert sum(step > 0 for task in steps.values() for step in task) >= 5
