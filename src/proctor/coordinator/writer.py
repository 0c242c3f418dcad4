"""One thread, one connection, group commit.

Requests queue up while a transaction is on its way to the disk; the next transaction serves all of them, and
every request is answered only after the commit. A batch that fails is served again one by one, so that a
request that cannot be served fails alone.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection

from proctor.coordinator.database import disconnect, storage_fault
from proctor.coordinator.statements import runs
from proctor.coordinator.states import RunState
from proctor.coordinator.transaction import Changes, Transaction, utc_now
from proctor.errors import ProctorError, StorageFault, SupersededError
from proctor.evaluation.protocol import RunSettings
from proctor.limits import GROUP_COMMIT_REQUESTS

T = TypeVar("T")
Operation = Callable[[Transaction], T | ProctorError]
"""Runs inside a transaction. A ProctorError it returns is raised to the asker, after the commit."""


class Owner(msgspec.Struct, frozen=True):
    """In whose name a writer writes."""

    run_id: int
    epoch: int
    settings: RunSettings


class _Request(msgspec.Struct):
    operation: Operation[Any]
    future: Future[Any]
    changes: Changes
    reply: Any = None


class Writer:
    """Runs operations in order, in transactions of the owner."""

    def __init__(
        self, connection: Connection, owner: Owner, path: Path, committed: Callable[[Changes], None]
    ) -> None:
        """`committed` hears of every request's changes after the commit and before its answer."""
        self.fault: StorageFault | None = None
        """Why the last transaction could not be written; None when it was."""
        self._connection, self._owner, self._path, self._committed = connection, owner, path, committed
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation[T]) -> Future[T]:
        """Queue an operation. Its future is done once the effect is on the disk."""
        future: Future[T] = Future()
        self._requests.put(_Request(operation, future, Changes()))
        return future

    def close(self) -> None:
        """Serve what is queued, then stop. Idempotent."""
        if self._thread.is_alive():
            self._requests.put(None)
            self._thread.join()
            disconnect(self._connection)

    def commit(self) -> None:
        """Put the open transaction on the disk."""
        self._connection.commit()

    def _serve(self) -> None:
        while True:
            batch, last = self._next_batch()
            asked = [request for request in batch if request.future.set_running_or_notify_cancel()]
            if asked:
                self._serve_batch(asked)
            if last:
                return

    def _next_batch(self) -> tuple[list[_Request], bool]:
        request = self._requests.get()
        batch: list[_Request] = []
        while request is not None:
            batch.append(request)
            if len(batch) == GROUP_COMMIT_REQUESTS:
                return batch, False
            try:
                request = self._requests.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _serve_batch(self, batch: list[_Request]) -> None:
        try:
            self._transact(batch)
        except Exception as error:
            self._undo()
            self.fault = storage_fault(error, self._path)
            if len(batch) == 1 or self.fault or isinstance(error, SupersededError):
                _answer_all(batch, self.fault or error)
            else:
                for request in batch:
                    self._serve_batch([request])
        else:
            self.fault = None
            for request in batch:
                self._committed(request.changes)
                _answer(request)

    def _transact(self, batch: list[_Request]) -> None:
        state = self._begin()
        for request in batch:
            transaction = Transaction(
                connection=self._connection,
                run_id=self._owner.run_id,
                epoch=self._owner.epoch,
                cancelled=state == RunState.CANCELLED,
                settings=self._owner.settings,
                time=utc_now(),
            )
            request.changes = transaction.changes
            request.reply = request.operation(transaction)
            if transaction.changes.cancelled:
                state = RunState.CANCELLED
        self.commit()

    def _begin(self) -> RunState:
        """Open the transaction. The write lock it takes keeps the epoch as it is read here."""
        row = self._connection.execute(runs.OWNER, {"the_run": self._owner.run_id}).one()
        if row.epoch != self._owner.epoch:
            raise SupersededError(
                f"{self._path}: epoch {row.epoch} owns this run now; this was epoch {self._owner.epoch}"
            )
        return RunState(row.state)

    def _undo(self) -> None:
        with contextlib.suppress(Exception):  # a failed commit may have ended the transaction already
            self._connection.rollback()


def _answer(request: _Request) -> None:
    if isinstance(request.reply, ProctorError):
        request.future.set_exception(request.reply)
    else:
        request.future.set_result(request.reply)


def _answer_all(batch: list[_Request], error: Exception) -> None:
    for request in batch:
        request.future.set_exception(error)
