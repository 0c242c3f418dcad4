from __future__ import annotations

from typing import Any

import pytest

from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.evaluation import lane as lane_module
from proctor.evaluation.lane import Lane
from proctor.testing.toy_versions import toy_definition


class Phases:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def enter(self, phase: str, step: int) -> None:
        self.seen.append(phase)

    def cancelled(self) -> bool:
        return False


class FakeFamily:
    """A fake family: environments that only close, and one that cannot even do that."""

    def __init__(self) -> None:
        self.open_now = 0
        self.actions: list[Any] = []
        self.close_raises = False

    def open(self, definition: Any, task: Any, action: Any) -> Any:
        self.actions.append(action)
        assert self.open_now == 0, "one environment at a time"
        self.open_now += 1
        return self

    def packages(self) -> dict[str, str]:
        return {"fake": "1"}

    def close(self) -> None:
        self.open_now -= 1
        if self.close_raises:
            raise RuntimeError("cannot close")


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> FakeFamily:
    made = FakeFamily()
    monkeypatch.setattr(lane_module, "find_family", lambda name: made)
    return made


def make_lane(phases: Phases | None = None, **definition: Any) -> Lane:
    toy = toy_definition(**definition)
    return Lane(toy, toy.actions[0], phases or Phases())  # type: ignore[arg-type]


def test_an_environment_is_made_for_the_runs_representation(family: FakeFamily) -> None:
    make_lane().prepare("reach")
    assert family.actions == [toy_definition().actions[0]]


def test_an_environment_is_kept_for_its_task(family: FakeFamily) -> None:
    lane = make_lane()
    first, boot_s = lane.prepare("reach")
    assert boot_s > 0
    assert lane.prepare("reach") == (first, 0.0)
    assert lane.task == "reach"


def test_another_task_closes_the_old_environment_first(family: FakeFamily) -> None:
    phases = Phases()
    lane = make_lane(phases)
    lane.prepare("reach")
    lane.prepare("park")
    assert (family.open_now, lane.task) == (1, "park")
    assert phases.seen == ["boot", "teardown", "boot"]


def test_a_lane_is_announced_after_the_old_one_is_gone_and_before_the_new_one_is_made(
    family: FakeFamily,
) -> None:
    seen: list[tuple[str, int]] = []
    phases, toy = Phases(), toy_definition()
    lane = Lane(toy, toy.actions[0], phases, lambda: seen.append((phases.seen[-1], family.open_now)))  # type: ignore[arg-type]
    for task in ("reach", "reach", "park"):
        lane.prepare(task)
    assert seen == [("boot", 0), ("boot", 0)]


def test_an_environment_that_cannot_be_closed_is_left_behind(family: FakeFamily) -> None:
    family.close_raises = True
    lane = make_lane()
    lane.prepare("reach")
    lane.drop()
    assert lane.task is None
    assert lane.prepare("reach")[1] > 0


def test_a_task_that_the_benchmark_does_not_have_is_a_fault(family: FakeFamily) -> None:
    with pytest.raises(BenchmarkFault, match="toy-v1 has no task 'fly'"):
        make_lane().prepare("fly")


def test_a_family_that_does_not_exist_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown benchmark family 'toi'; did you mean 'toy'"):
        make_lane(family="toi")
