"""The store on SQLite: one writer thread, readers on connections of their own, leases in memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, RowMapping

from proctor.coordinator import acceptance, claims, endings
from proctor.coordinator.configuration import ERRORS_FILE
from proctor.coordinator.database import disconnect, reading_engine, storage_fault, writing_engine
from proctor.coordinator.faults import as_line, recorded_faults
from proctor.coordinator.journal import Journal
from proctor.coordinator.leases import LeaseBook
from proctor.coordinator.migrate import prepare
from proctor.coordinator.opening import take_over
from proctor.coordinator.progress import Progress, progress_of
from proctor.coordinator.refusals import superseded
from proctor.coordinator.roster import Roster
from proctor.coordinator.statements import attempts, episodes, runs
from proctor.coordinator.states import RunState
from proctor.coordinator.store import RunStore, Start
from proctor.coordinator.transaction import Changes, Holder, holder_of
from proctor.coordinator.writer import Owner, Writer
from proctor.evaluation.protocol import (
    Accepted,
    AttemptRef,
    CancelRequest,
    ClaimReply,
    ClaimRequest,
    EpisodeReport,
    FailRequest,
    HeartbeatReply,
    HeartbeatRequest,
    ReleaseRequest,
    RunSettings,
    WorkerHello,
    WorkerLost,
)
from proctor.limits import OPENING_LEASES

T = TypeVar("T")


class SqliteStore(RunStore):
    """One run in one database file."""

    def __init__(
        self,
        connection: Connection,
        owner: Owner,
        path: Path,
        leases: LeaseBook,
        roster: Roster,
        journal: Path | None,
    ) -> None:
        """Start serving on a connection whose owner is committed. Use `open`."""
        self.epoch, self.settings = owner.epoch, owner.settings
        self._owner, self._path, self._leases, self._roster = owner, path, leases, roster
        self._reader = reading_engine(path)
        self._journals = None if journal is None else _journals(journal, connection, owner)
        row = connection.execute(runs.OWNER, {"the_run": owner.run_id}).one()
        self._cancelled = row.state == RunState.CANCELLED
        held = connection.execute(attempts.ALL_OPEN, {"the_run": owner.run_id})
        leases.grant(Holder(*row) for row in held)
        connection.rollback()
        self._writer = Writer(connection, owner, path, self._committed)

    @classmethod
    def open(
        cls,
        path: Path,
        start: Start,
        *,
        journal: Path | None,
        lease_s: float,
        clock: Callable[[], float],
    ) -> SqliteStore:
        """Open or make the file and take the run over. Raises UsageError or StorageFault."""
        connection: Connection | None = None
        try:
            connection = writing_engine(path).connect()
            prepare(connection, str(path))
            owner = take_over(connection, start)
            connection.commit()
            return cls(connection, owner, path, LeaseBook(lease_s, clock), Roster(clock), journal)
        except BaseException as error:
            if connection is not None:
                disconnect(connection)
            fault = storage_fault(error, path)
            if fault is not None:
                raise fault from error
            raise

    def hello(self, request: WorkerHello) -> Future[RunSettings]:
        """See RunStore."""
        self._roster.saw(request.worker, "boot")
        return self._writer.submit(lambda tx: claims.hello(tx, request))

    def claim(self, request: ClaimRequest) -> Future[ClaimReply]:
        """See RunStore."""
        self._roster.saw(request.worker, "claim")
        return self._writer.submit(lambda tx: claims.claim(tx, request, self._leases.lease_s))

    def heartbeat(self, request: HeartbeatRequest) -> Future[HeartbeatReply]:
        """See RunStore. Touches the disk only to record a refusal."""
        self._roster.heard(request)
        ref, leases = request.attempt, OPENING_LEASES if request.opening else 1
        if ref is None or self._leases.renew(holder_of(ref), leases):
            return _done(HeartbeatReply(lease_s=self._leases.lease_s, cancel=self._cancelled))
        return self._writer.submit(lambda tx: superseded(tx, "heartbeat", holder_of(ref)))

    def report(self, request: EpisodeReport) -> Future[Accepted]:
        """See RunStore."""
        return self._writer.submit(lambda tx: acceptance.report(tx, request))

    def complete(self, ref: AttemptRef) -> Future[Accepted]:
        """See RunStore."""
        return self._writer.submit(lambda tx: endings.complete(tx, ref))

    def release(self, request: ReleaseRequest) -> Future[Accepted]:
        """See RunStore."""
        return self._writer.submit(lambda tx: endings.release(tx, request))

    def fail(self, request: FailRequest) -> Future[Accepted]:
        """See RunStore."""
        return self._writer.submit(lambda tx: endings.fail(tx, request))

    def lost(self, request: WorkerLost) -> Future[Accepted]:
        """See RunStore."""
        self._roster.saw(request.worker, "lost")
        return self._writer.submit(lambda tx: endings.lost(tx, request))

    def cancel(self, request: CancelRequest) -> Future[Accepted]:
        """See RunStore."""
        return self._writer.submit(lambda tx: endings.cancel(tx, request))

    def expire(self) -> Future[int]:
        """See RunStore. Leases that could not be ended on the disk are due again at the next call."""
        due = self._leases.take_due()
        if not due:
            return _done(0)
        ending = self._writer.submit(lambda tx: endings.expire(tx, due))
        ending.add_done_callback(lambda done: self._leases.put_back(due) if done.exception() else None)
        return ending

    def progress(self) -> Progress:
        """See RunStore."""
        with self._reader.connect() as connection:
            counters = connection.execute(runs.TASKS, {"the_run": self._owner.run_id}).mappings().all()
        return progress_of(
            counters,
            run=self.settings.run,
            epoch=self.epoch,
            cancelled=self._cancelled,
            workers=self._roster.statuses(),
            storage_fault=self._fault(),
        )

    def close(self) -> None:
        """See RunStore."""
        self._writer.close()
        self._reader.dispose()
        for journal in self._journals or ():
            journal.close()

    def _committed(self, changes: Changes) -> None:
        self._leases.grant(changes.granted)
        self._leases.end(changes.ended)
        self._cancelled = self._cancelled or changes.cancelled
        if self._journals is not None:
            episodes_journal, errors_journal = self._journals
            episodes_journal.append(changes.accepted)
            errors_journal.append(changes.faults)

    def _fault(self) -> str | None:
        faults = (self._writer.fault, *(journal.fault for journal in self._journals or ()))
        return next((str(fault) for fault in faults if fault is not None), None)


def _journals(path: Path, connection: Connection, owner: Owner) -> tuple[Journal, Journal]:
    accepted = connection.scalars(episodes.ACCEPTED, {"the_run": owner.run_id}).all()

    def rows(statement: Executable, **values: Any) -> list[RowMapping]:
        named = {f"the_{name}": value for name, value in values.items()}
        return list(connection.execute(statement, {"the_run": owner.run_id, **named}).mappings())

    faults = map(as_line, recorded_faults(rows))
    return Journal(path, accepted), Journal(path.with_name(ERRORS_FILE), faults)


def _done(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future
