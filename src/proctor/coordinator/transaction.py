"""What a transition works with: the open transaction, its owner, and what to do after the commit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, CursorResult, Executable, RowMapping

from proctor.coordinator.schema import COUNTERS
from proctor.coordinator.statements import events, runs
from proctor.coordinator.states import EventKind
from proctor.evaluation.protocol import AttemptRef, RunSettings


class Holder(NamedTuple):
    """Names one attempt: which item, granted by which epoch, under which token, to whom."""

    item: int
    epoch: int
    token_sha256: str
    worker: str


def holder_of(ref: AttemptRef) -> Holder:
    """The stored form of what a worker sends; the token itself is never stored."""
    return Holder(ref.item, ref.epoch, token_digest(ref.token), ref.worker)


def token_digest(token: str) -> str:
    """SHA-256 of a token, hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()


def utc_now() -> str:
    """The wall clock, for people to read. Nothing is decided by it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(slots=True)
class Changes:
    """What the owner's memory and journal must learn after the commit, and only then."""

    granted: list[Holder] = field(default_factory=list)
    ended: list[Holder] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    cancelled: bool = False


@dataclass(slots=True)
class Transaction:
    """One request's share of an open transaction of the owner."""

    connection: Connection
    run_id: int
    epoch: int
    cancelled: bool
    settings: RunSettings
    time: str
    changes: Changes = field(default_factory=Changes)

    def first(self, statement: Executable, **values: Any) -> RowMapping | None:
        """Execute with `the_run` and the given `the_*` values; the first row returned, if any."""
        return self._result(statement, values).mappings().first()

    def rows(self, statement: Executable, **values: Any) -> list[RowMapping]:
        """Execute likewise; every row returned."""
        return list(self._result(statement, values).mappings())

    def execute(self, statement: Executable, **values: Any) -> None:
        """Execute likewise, for its effect."""
        self._result(statement, values)

    def insert(self, statement: Executable, **columns: Any) -> CursorResult[Any]:
        """Insert one row of this run."""
        return self.connection.execute(statement, {"run_id": self.run_id, **columns})

    def count(self, task: str, **by: int) -> None:
        """Add to counters of a task."""
        values = {f"the_{name}": by.get(name, 0) for name in COUNTERS}
        self.connection.execute(runs.COUNT, {"the_run": self.run_id, "the_task": task, **values})

    def record(
        self,
        kind: EventKind,
        detail: object = None,
        *,
        item: int | None = None,
        attempt: int | None = None,
        episode: str | None = None,
    ) -> None:
        """Append one event."""
        self.insert(
            events.RECORD,
            at=self.time,
            epoch=self.epoch,
            kind=kind,
            item_id=item,
            attempt_id=attempt,
            episode_id=episode,
            detail=msgspec.json.encode(detail).decode(),
        )

    def _result(self, statement: Executable, values: dict[str, Any]) -> CursorResult[Any]:
        named = {f"the_{name}": value for name, value in values.items()}
        return self.connection.execute(statement, {"the_run": self.run_id, **named})
