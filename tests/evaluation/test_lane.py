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
        self.close_raises = False

    def open(self, definition: Any, task: Any) -> Any:
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


def test_an_environment_is_kept_for_its_task(family: FakeFamily) -> None:
    lane = Lane(toy_definition(), Phases())  # type: ignore[arg-type]
    first, boot_s = lane.prepare("reach")
    assert boot_s > 0
    assert lane.prepare("reach") == (first, 0.0)
    assert lane.task == "reach"


def test_another_task_closes_the_old_environment_first(family: FakeFamily) -> None:
    phases = Phases()
    lane = Lane(toy_definition(), phases)  # type: ignore[arg-type]
    lane.prepare("reach")
    lane.prepare("park")
    assert (family.open_now, lane.task) == (1, "park")
    assert phases.seen == ["boot", "teardown", "boot"]


def test_an_environment_that_cannot_be_closed_is_left_behind(family: FakeFamily) -> None:
    family.close_raises = True
    lane = Lane(toy_definition(), Phases())  # type: ignore[arg-type]
    lane.prepare("reach")
    lane.drop()
    assert lane.task is None
    assert lane.prepare("reach")[1] > 0


def test_a_task_that_the_benchmark_does_not_have_is_a_fault(family: FakeFamily) -> None:
    with pytest.raises(BenchmarkFault, match="toy-v1 has no task 'fly'"):
        Lane(toy_definition(), Phases()).prepare("fly")  # type: ignore[arg-type]


def test_a_family_that_does_not_exist_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown benchmark family 'toi'; did you mean 'toy'"):
        Lane(toy_definition(family="toi"), Phases())  # type: ignore[arg-type]
