"""The run's coordinator as a supervised process, and the conversation with it.

It holds no state: when it dies or hangs it is started again on the same store and port, and workers keep
trying. What could not be said to it meanwhile is said later.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from proctor.coordinator.client import CoordinatorClient
from proctor.coordinator.configuration import EXIT_USAGE, ServerConfig
from proctor.coordinator.progress import Progress
from proctor.coordinator.store import Restart, Start
from proctor.errors import CoordinatorGone, InfrastructureFault, StorageFault, UsageError
from proctor.evaluation.record import ErrorRecord
from proctor.launch.incidents import unnoted
from proctor.launch.restarts import Restarts
from proctor.launch.supervisor import Child, Order, last_words, log_tail, stop_all, wait_until_ready
from proctor.launch.surroundings import BOOTSTRAP, host_environment
from proctor.limits import COORDINATOR_HUNG_S, COORDINATOR_READY_S, MAX_COORDINATOR_RESTARTS

COORDINATOR_MODULE: Final = "proctor.coordinator.__main__"
_TOKEN_BYTES: Final = 32


class Coordinator:
    """One run's coordinator. Used from one thread.

    The process starts at once, so that its imports overlap with the loading of the policy; `open` tells it
    which run to serve.
    """

    def __init__(self, run: str, directory: Path, restarted: Callable[[Child], None] = unnoted) -> None:
        """`restarted` is told of every process that ended and is started again."""
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.url = ""
        self._run, self._directory, self._restarted = run, directory, restarted
        self._restarts = Restarts(MAX_COORDINATOR_RESTARTS)
        self._unsaid: list[tuple[str, ErrorRecord, bool]] = []
        self._client: CoordinatorClient | None = None
        self._heard_at = 0.0
        self.child = self._start()

    def _start(self) -> Child:
        self._heard_at = time.monotonic()
        return Child(
            Order(
                name="coordinator",
                command=[sys.executable, str(BOOTSTRAP), COORDINATOR_MODULE],
                log=self._directory / "logs" / "coordinator.log",
                environment=host_environment(),
            )
        )

    def open(self, start: Start) -> None:
        """Take the run over and serve it. Raises UsageError when the run or its plan is refused."""
        self._configure(start, port=0)
        self._wait_until_ready()
        assert self.child.ready is not None
        self.url = str(self.child.ready["url"])
        self._client = CoordinatorClient(self.url, self.token)

    def _configure(self, start: Start, port: int) -> None:
        config = ServerConfig(directory=str(self._directory), start=start, token=self.token, port=port)
        self.child.send(msgspec.json.encode(config).decode())

    def _wait_until_ready(self) -> None:
        try:
            wait_until_ready([self.child], COORDINATOR_READY_S)
        except InfrastructureFault:
            self._raise_if_refused()
            raise

    def _raise_if_refused(self) -> None:
        if self.child.exit is not None and self.child.exit.code == EXIT_USAGE:
            raise UsageError(last_words(self.child.order.log))

    def mind(self) -> None:
        """Start it again if it died. Raises InfrastructureFault when it died too often."""
        if self.child.running:
            return
        self._raise_if_refused()
        if self._restarts.due(f"the coordinator ended: {self.child.exit}\n{log_tail(self.child.order.log)}"):
            self._restarted(self.child)
            self.child = self._start()
            self._configure(Restart(self._run), port=urlsplit(self.url).port or 0)

    def progress(self) -> Progress | None:
        """Where the run is; None while the coordinator is away, or there and unable to say."""
        assert self._client is not None
        try:
            self._say_the_unsaid()
            progress = self._client.progress()
        except CoordinatorGone:
            self._kill_if_hung()
            return None
        except StorageFault:
            progress = None
        self._heard_at = time.monotonic()
        return progress

    def _kill_if_hung(self) -> None:
        patience_s = COORDINATOR_HUNG_S if self.child.ready else COORDINATOR_READY_S
        if time.monotonic() - self._heard_at > patience_s:
            self.child.kill()

    def lost(self, worker: str, error: ErrorRecord, *, native_crash: bool) -> None:
        """Tell that a worker's process is gone, now or as soon as it can be told."""
        self._unsaid.append((worker, error, native_crash))
        with contextlib.suppress(CoordinatorGone):
            self._say_the_unsaid()

    def knows(self, worker: str) -> bool:
        """Whether it has heard of every loss; else it would take the next process for the lost one."""
        return all(lost != worker for lost, _, _ in self._unsaid)

    def _say_the_unsaid(self) -> None:
        assert self._client is not None
        while self._unsaid:
            worker, error, native_crash = self._unsaid[0]
            try:
                self._client.lost(worker, error, native_crash=native_crash)
            except StorageFault:
                return
            self._unsaid.pop(0)

    def cancel(self, reason: str) -> bool:
        """Hand out no more work; whether the coordinator has taken note."""
        assert self._client is not None
        try:
            self._client.cancel(reason)
        except (CoordinatorGone, StorageFault):
            return False
        return True

    def close(self, hurry: Callable[[], bool]) -> None:
        """Let it finish what is in flight and end, or kill it once `hurry()`."""
        if self._client is not None:
            self._client.close()
        stop_all([self.child], hurry=hurry)


@contextmanager
def coordinating(
    run: str, directory: Path, hurry: Callable[[], bool], restarted: Callable[[Child], None] = unnoted
) -> Iterator[Coordinator]:
    """Run a coordinator while the block lasts."""
    coordinator = Coordinator(run, directory, restarted)
    try:
        yield coordinator
    finally:
        coordinator.close(hurry)
