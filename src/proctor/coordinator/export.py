"""Reading a run back, for `results`: from the file alone, with or without a coordinator.

Opening does not change the file: nothing is migrated and no epoch is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, Executable, RowMapping
from sqlalchemy.exc import DBAPIError

from proctor.benchmarks.contract import Episode
from proctor.coordinator.database import reading_engine, storage_fault
from proctor.coordinator.faults import recorded_faults
from proctor.coordinator.migrate import require_schema
from proctor.coordinator.plan import Fingerprint
from proctor.coordinator.statements import attempts, episodes, events, items, runs
from proctor.coordinator.states import EventKind, RunState
from proctor.errors import UnknownNameError, UsageError
from proctor.evaluation.platform import NO_RENDERER
from proctor.evaluation.protocol import RunSettings, WorkerHello
from proctor.evaluation.record import EpisodeRecord
from proctor.results.run_record import AttemptFault, Quarantine

T = TypeVar("T")
_Process: TypeAlias = tuple[str, str, int]
"""Worker, host and process id."""


class RunExport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the store knows about one run."""

    name: str
    state: RunState
    epoch: int
    """How often the run was opened by a coordinator."""
    created_at: str
    last_at: str
    """Of the latest thing that happened, UTC, ISO 8601."""
    plan_hash: str
    fingerprint: Fingerprint
    settings: RunSettings
    planned: tuple[Episode, ...]
    """In the order of the plan."""
    records: tuple[EpisodeRecord, ...]
    """Accepted results, in the order of the plan."""
    accepted: tuple[str, ...]
    """The lines of `episodes.jsonl`: the same results as they were stored, in the order of acceptance."""
    faults: tuple[AttemptFault, ...]
    """Errors of episodes and of attempts, in the order they happened."""
    quarantined: tuple[Quarantine, ...]
    workers: tuple[WorkerHello, ...]
    """The processes that results came from (all of them while there is no result), as they last described
    themselves."""
    refused_results: int
    """Episode results refused because their attempt was superseded, or because they contradicted."""


def export_run(database: Path, name: str) -> RunExport:
    """Read a run from its file.

    Raises UsageError (no such file or run, newer or older schema) or StorageFault.
    """
    if not database.is_file():
        raise UsageError(f"{database}: no such run store")
    engine = reading_engine(database)
    try:
        with engine.connect() as connection:
            require_schema(connection, str(database))
            return _Reading(connection, _find(connection, name)).export()
    except DBAPIError as error:
        fault = storage_fault(error, database)
        if fault is not None:
            raise fault from error
        raise
    finally:
        engine.dispose()


def _find(connection: Connection, name: str) -> RowMapping:
    row = connection.execute(runs.FIND, {"the_name": name}).mappings().first()
    if row is None:
        raise UnknownNameError("run", name, connection.scalars(runs.NAMES).all())
    return row


class _Reading:
    """One run in one read transaction."""

    def __init__(self, connection: Connection, run: RowMapping) -> None:
        self.connection, self.run = connection, run
        self.planned = self.rows(episodes.PLANNED)

    def rows(self, statement: Executable, **values: Any) -> list[RowMapping]:
        named = {f"the_{name}": value for name, value in values.items()}
        return list(self.connection.execute(statement, {"the_run": self.run["id"], **named}).mappings())

    def value(self, statement: Executable) -> Any:
        return self.connection.scalar(statement, {"the_run": self.run["id"]})

    def export(self) -> RunExport:
        run = self.run
        return RunExport(
            name=run["name"],
            state=RunState(run["state"]),
            epoch=run["epoch"],
            created_at=run["created_at"],
            last_at=self.value(events.LAST_AT) or run["created_at"],
            plan_hash=run["plan_hash"],
            fingerprint=msgspec.json.decode(run["fingerprint"]),
            settings=msgspec.json.decode(run["settings"], type=RunSettings),
            planned=_decoded((row["spec"] for row in self.planned), Episode),
            accepted=tuple(row["record"] for row in self.rows(episodes.ACCEPTED)),
            records=_decoded((row["record"] for row in self.planned if row["record"]), EpisodeRecord),
            faults=tuple(recorded_faults(self.rows)),
            quarantined=self.quarantined(),
            workers=self.workers(),
            refused_results=self.refused_results(),
        )

    def of_kind(self, kind: EventKind) -> list[RowMapping]:
        return self.rows(events.OF_KIND, kind=kind)

    def quarantined(self) -> tuple[Quarantine, ...]:
        missing: dict[int, list[str]] = {}
        for row in self.planned:
            if row["outcome"] is None:
                missing.setdefault(row["item_id"], []).append(row["id"])
        return tuple(
            Quarantine(item=row["id"], attempts=row["attempts"], episodes=tuple(missing[row["id"]]))
            for row in self.rows(items.QUARANTINED)
        )

    def workers(self) -> tuple[WorkerHello, ...]:
        owners = {row["id"]: row["worker"] for row in self.rows(attempts.ALL)}
        hellos, accepted = self.of_kind(EventKind.HELLO), self.of_kind(EventKind.ACCEPTED)
        present: dict[str, _Process] = {}
        processes: dict[_Process, WorkerHello] = {}
        productive: set[_Process | None] = set()
        for row in sorted(hellos + accepted, key=lambda row: row["id"]):
            if row["kind"] == EventKind.ACCEPTED:
                productive.add(present.get(owners[row["attempt_id"]]))
                continue
            hello = msgspec.json.decode(row["detail"], type=WorkerHello)
            process = present[hello.worker] = (hello.worker, hello.host, hello.pid)
            processes[process] = _completed(hello, processes.get(process))
        return tuple(hello for process, hello in processes.items() if process in productive or not accepted)

    def refused_results(self) -> int:
        refused = self.of_kind(EventKind.REFUSED) + self.of_kind(EventKind.CONFLICT)
        return sum(_carried_result(row["detail"]) for row in refused)


def _decoded(texts: Iterable[str], kind: type[T]) -> tuple[T, ...]:
    decoder = msgspec.json.Decoder(kind)
    return tuple(decoder.decode(text) for text in texts)


def _completed(hello: WorkerHello, earlier: WorkerHello | None) -> WorkerHello:
    """A process says more as it gets to know it; starting itself anew, it begins with nothing again."""
    if earlier is None:
        return hello
    return replace(
        hello,
        packages=hello.packages or earlier.packages,
        renderer=earlier.renderer if hello.renderer == NO_RENDERER else hello.renderer,
    )


def _carried_result(detail: str) -> bool:
    return msgspec.json.decode(detail).get("kept") is not None
