"""What the launcher makes of a coordinator that cannot say where the run is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.errors import CoordinatorGone, StorageFault
from proctor.launch import coordinating
from proctor.launch.coordinating import Coordinator


class FakeChild:
    """A fake: a process that runs until it is killed."""

    def __init__(self, order: object) -> None:
        self.running = True
        self.ready = {"url": "http://127.0.0.1:1"}

    def send(self, line: str) -> None:
        pass

    def kill(self) -> None:
        self.running = False


class FakeClient:
    """A fake: a coordinator that answers every question in the same way."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def progress(self) -> Any:
        raise self._error


@pytest.fixture
def coordinator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Coordinator:
    monkeypatch.setattr(coordinating, "Child", FakeChild)
    monkeypatch.setattr(coordinating, "COORDINATOR_HUNG_S", -1.0)
    return Coordinator("run", tmp_path)


def test_one_that_is_away_for_too_long_is_killed(coordinator: Coordinator) -> None:
    coordinator._client = FakeClient(CoordinatorGone("superseded"))  # type: ignore[assignment]
    assert coordinator.progress() is None
    assert not coordinator.child.running


def test_one_that_cannot_store_is_left_alone(coordinator: Coordinator) -> None:
    coordinator._client = FakeClient(StorageFault("disk full"))  # type: ignore[assignment]
    assert coordinator.progress() is None
    assert coordinator.child.running
