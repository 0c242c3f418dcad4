from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proctor.coordinator.audit import audit
from proctor.coordinator.store import RunStore, Start, open_store
from proctor.testing.store_driver import Clock, Driver


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


@pytest.fixture
def opener(tmp_path: Path, database: Path, clock: Clock) -> Iterator[Callable[[Start], Driver]]:
    """Opens the run in `database`, with its journal; afterwards the file must keep every promise."""
    opened: list[RunStore] = []

    def open_(start: Start) -> Driver:
        store = open_store(f"sqlite:///{database}", start, journal=tmp_path / "episodes.jsonl", clock=clock)
        opened.append(store)
        return Driver(store, clock)

    yield open_
    for store in opened:
        store.close()
    if opened:
        assert audit(database) == ()
