"""The policy server: one thread for input and output, one for the policy.

The input/output thread accepts, greets, and serves connections for control: health, load orders, unload. A
connection for episodes is handed to the policy's thread, which reads it itself.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import threading
from collections import deque
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Final

from proctor.errors import ProtocolError, UsageError
from proctor.limits import MAX_CONNECTIONS, UNLOAD_TIMEOUT_S
from proctor.policy.calls import Answer
from proctor.policy.host import PolicyHost
from proctor.policy.lifecycle import Policy
from proctor.policy.loading import is_importing
from proctor.policy.polling import Poller
from proctor.wire.local import address
from proctor.wire.local.connection import Connection
from proctor.wire.local.desk import Desk
from proctor.wire.local.messages import Reason
from proctor.wire.local.source import EpisodesSource

_TURN_S: Final = 1.0
"""Seconds between looks for clients that are too slow."""

_log = logging.getLogger(__name__)


class PolicyServer:
    """Serves one policy at a Unix socket, to processes of the same user.

    As a context manager it serves from two threads of its own until the block ends; then the policy is
    unloaded. `serve` does the same with the calling thread for input and output. A server serves once.
    """

    def __init__(
        self, policy: Policy, socket_path: str | os.PathLike[str], *, accept_batching: bool = False
    ) -> None:
        self.socket_path = Path(socket_path)
        self._host = PolicyHost(policy, accept_batching=accept_batching, on_end=self._end)
        self._poller: Poller[Desk | socket.socket] = Poller()
        self._answers: deque[tuple[Desk, int, Answer]] = deque()
        self._sources: list[EpisodesSource] = []
        self._version = _version()
        self._listener: socket.socket | None = None
        self._begun = False
        self._ended = threading.Event()
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run, name="policy-io", daemon=True)

    def __enter__(self) -> PolicyServer:
        self.listen()
        self._begun = True
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def fatal(self) -> BaseException | None:
        """What the policy ended its replica with; None while it serves, and after an orderly end."""
        return self._host.fatal

    def listen(self) -> None:
        """Create the socket; clients can connect from now on. Raises `UsageError` where it cannot be."""
        if self._listener is not None:
            return
        try:
            self._listener = address.listen(self.socket_path)
        except UsageError:
            self.close()
            raise
        self._poller.watch(self._listener, select.POLLIN)

    def serve(self) -> None:
        """Serve on the calling thread until `stop`, or until a client unloads the policy.

        Re-raises what the policy raised to end its replica.
        """
        self.listen()
        self._run()
        if self._host.fatal is not None:
            raise self._host.fatal

    def stop(self) -> None:
        """Finish the current call, unload the policy, leave. Does not wait; safe in a signal handler."""
        self._host.stop()

    def close(self) -> None:
        """`stop`, and wait until the policy is unloaded, for at most UNLOAD_TIMEOUT_S. Idempotent."""
        self.stop()
        if not self._begun:
            self._host.run()  # stopped before it began, it only leaves
            self._leave()
        elif not self._left.wait(UNLOAD_TIMEOUT_S):
            _log.error("the policy did not unload within %.0f s", UNLOAD_TIMEOUT_S)

    # --- the input/output thread -------------------------------------------------------------------

    def _run(self) -> None:
        self._begun = True
        self._host.start()
        try:
            while not self._ended.is_set():
                self._turn()
            self._deliver_answers()
        finally:
            self._leave()

    def _turn(self) -> None:
        for item, events in self._poller.wait(_TURN_S):
            if isinstance(item, Desk):
                self._serve_desk(item, events)
            else:
                self._accept(item)
        self._deliver_answers()
        for item in self._poller.items:
            if isinstance(item, Desk) and item.overdue():
                self._close(item, "unread" if item.draining else "protocol", "too slow")

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError as error:
            if not isinstance(error, BlockingIOError):
                _log.warning("a connection was not accepted: %s", error)
            return
        if not address.same_user(sock):
            _log.warning("refused a connection from user %s", address.peer_uid(sock))
            sock.close()
            return
        connection = Connection(sock)
        if self._connections() >= MAX_CONNECTIONS:
            connection.close("full", f"this server keeps at most {MAX_CONNECTIONS} connections")
            return
        self._watch(Desk(connection, self._host, self._version, self._bring))

    def _connections(self) -> int:
        self._sources = [source for source in self._sources if source.fileno() >= 0]
        return len(self._sources) + len(self._poller.items)

    def _serve_desk(self, desk: Desk, events: int) -> None:
        try:
            if events & select.POLLOUT:
                desk.flush()
            if not desk.draining:
                desk.serve()
        except EOFError:
            self._close(desk, "leaving", "")
        except ConnectionError as error:
            _log.info("a client left: %s", error)
            self._close(desk, "leaving", "")
        except (ProtocolError, OSError) as error:
            _log.warning("closing a connection: %s", error)
            self._close(desk, "protocol", str(error))
        else:
            if desk.role == "episodes":
                self._hand_over(desk)
            else:
                self._watch(desk)

    def _hand_over(self, desk: Desk) -> None:
        self._poller.forget(desk)
        source = EpisodesSource(desk.release(), lambda: self._host.state)
        self._sources.append(source)
        self._host.attach(source)

    def _watch(self, desk: Desk) -> None:
        self._poller.watch(desk, select.POLLOUT if desk.draining else select.POLLIN)

    def _close(self, desk: Desk, reason: Reason, message: str) -> None:
        self._poller.forget(desk)
        desk.close(reason, message)

    def _deliver_answers(self) -> None:
        while self._answers:
            desk, request_id, answer = self._answers.popleft()
            if desk.fileno() >= 0:
                self._answer(desk, request_id, answer)

    def _answer(self, desk: Desk, request_id: int, answer: Answer) -> None:
        try:
            desk.answer(request_id, answer)
            self._watch(desk)
        except ProtocolError as error:
            self._close(desk, "protocol", str(error))

    def _leave(self) -> None:
        for item in self._poller.items:
            if isinstance(item, Desk):
                self._close(item, "leaving", "the policy is no longer served")
        if self._listener is not None:
            self._poller.forget(self._listener)
            self._listener.close()
            self._listener = None
            self.socket_path.unlink(missing_ok=True)
        self._poller.close()
        self._left.set()

    # --- called on the policy's thread -------------------------------------------------------------

    def _bring(self, desk: Desk, request_id: int, answer: Answer) -> None:
        self._answers.append((desk, request_id, answer))
        self._poller.wake()

    def _end(self) -> None:
        self._ended.set()
        self._poller.wake()


def run(policy: Policy) -> None:
    """Serve a policy until a client unloads it or the process gets SIGTERM or SIGINT.

    The socket is PROCTOR_POLICY_SOCKET, else EVOSTUDIO_INFERENCE_SOCKET, else a file in the directory for
    temporary files. On a signal the current call is finished and the policy unloaded; a second one ends the
    process at once. Logging is the caller's to configure.

    Does nothing while proctor itself imports the calling script to find a class in it.
    """
    if not is_importing():
        serve(PolicyServer(policy, address.default_socket_path()))


def serve(server: PolicyServer) -> None:
    """`PolicyServer.serve`, with the signals of `run`. Call it on the main thread."""
    with _stopped_by_signals(server):
        server.serve()


@contextlib.contextmanager
def _stopped_by_signals(server: PolicyServer) -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}

    def stop(number: int, frame: object) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_DFL)
        server.stop()

    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _version() -> str:
    try:
        return version("proctor")
    except PackageNotFoundError:
        return "unknown"
