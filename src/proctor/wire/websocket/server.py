"""Serves one policy to WebSocket clients, from one input/output thread; the policy runs on its own.

A connection's episodes belong to it: they end when it does. What a request does to the policy is asked for
without waiting, so a client's pings are answered, and other clients served, however long an inference takes.
The answer is sent by the policy's thread itself, which saves waking another; it never waits for a socket.
"""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from proctor.errors import ProtocolError, UsageError
from proctor.limits import CLOSE_TIMEOUT_S, MAX_CONNECTIONS, MAX_REFUSALS
from proctor.policy.calls import Answer, Call, Failure
from proctor.policy.host import PolicyHost
from proctor.policy.polling import Poller
from proctor.wire.exposure import Guard
from proctor.wire.serving import Address, RunningServer, ServedPolicy
from proctor.wire.websocket.connection import GOING_AWAY, Connection
from proctor.wire.websocket.conversation import Conversation, Service, Turn
from proctor.wire.websocket.sockets import keep_alive

_TURN_S: Final = 0.25
"""Seconds between looks at who is too slow."""

_ACCEPT_PAUSE_S: Final = 0.05
"""Seconds without accepting after the process ran out of descriptors."""

_BACKLOG: Final = 1024
_REQUEST_BYTES: Final = 4096

_log = logging.getLogger(__name__)


@dataclass
class _Client:
    """One connection: what it says, and as whom it asks the policy."""

    connection: Connection
    conversation: Conversation
    full: bool
    left: bool = False
    pending: _Pending | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held by whoever uses the connection."""

    def fileno(self) -> int:
        return self.connection.fileno()

    def has_left(self) -> bool:
        return self.left


@dataclass
class _Pending:
    """A turn whose answers are on their way."""

    client: _Client
    turn: Turn
    answers: list[Answer] = field(default_factory=list)

    def reply(self) -> bytes | bytearray | str | Failure:
        failure = next((answer for answer in self.answers if isinstance(answer, Failure)), None)
        return failure or self.turn.reply(self.answers[-1] if self.answers else None)


class WebSocketServer:
    """Implements `proctor.wire.serving.RunningServer`."""

    def __init__(self, service: Service, host: PolicyHost, address: Address, guard: Guard) -> None:
        """Listen and serve. Raises `UsageError` where it cannot listen."""
        self._service, self._host, self._guard = service, host, guard
        self._greeting = service.greeting
        self._listener = _listen(address)
        self._port: int = self._listener.getsockname()[1]
        self._name = f"[{address.host}]" if ":" in address.host else address.host
        self._poller: Poller[_Client | socket.socket] = Poller()
        self._poller.watch(self._listener, select.POLLIN)
        self._unsent: deque[_Client] = deque()
        """Clients to whom the policy's thread could not send all that it had to say."""
        self._stopping = False
        self._swept = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="websocket-io", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """What a user gives to `--policy`."""
        return f"{'wss' if self._guard.tls else 'ws'}://{self._name}:{self._port}"

    def close(self) -> None:
        """Take no more connections, close those there are, wait for the thread. Idempotent."""
        self._stopping = True
        self._poller.wake()
        self._thread.join()

    # --- the input/output thread ---------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._turn()
            self._say_goodbye()
        finally:
            self._leave()

    def _turn(self) -> None:
        for item, events in self._poller.wait(_TURN_S):
            if isinstance(item, _Client):
                self._guarded(item, partial(self._serve, item, events))
            elif not self._stopping:
                self._accept(item)
        while self._unsent:
            self._guarded(self._unsent.popleft(), lambda: None)
        now = time.monotonic()
        if now - self._swept > _TURN_S:
            self._swept = now
            for client in self._clients():
                with client.lock:
                    if client.connection.overdue(now):
                        self._drop(client)

    def _clients(self) -> list[_Client]:
        return [item for item in self._poller.items if isinstance(item, _Client)]

    def _guarded(self, client: _Client, action: Callable[[], None]) -> None:
        """Do something for a client that is still there; drop it where the connection is over."""
        with client.lock:
            if client.left:
                return
            try:
                action()
            except (EOFError, OSError):
                self._drop(client)
            except Exception:
                _log.exception("dropping a connection")
                self._drop(client)
            else:
                self._poller.watch(client, client.connection.interest())

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_BACKLOG):
            try:
                sock, peer = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                _log.warning("a connection was not accepted: %s", error)
                time.sleep(_ACCEPT_PAUSE_S)
                return
            if not self._guard.admits_peer(peer[0]):
                sock.close()
            elif len(clients := self._clients()) < MAX_CONNECTIONS + MAX_REFUSALS:
                self._welcome(sock, full=sum(not client.full for client in clients) >= MAX_CONNECTIONS)
            else:
                _turn_away(sock)

    def _welcome(self, sock: socket.socket, *, full: bool) -> None:
        try:
            keep_alive(sock)
            connection = Connection(
                sock, self._guard, self._greeting, max_bytes=self._service.max_bytes, full=full
            )
        except OSError:
            sock.close()
            return
        self._poller.watch(_Client(connection, self._service.converse(), full), select.POLLIN)

    def _serve(self, client: _Client, events: int) -> None:
        for message in client.connection.serve(events):
            if not client.connection.is_open:
                return
            if client.pending is not None:
                client.connection.fail("a request came before the last one was answered")
                return
            self._ask(client, message)

    def _ask(self, client: _Client, message: bytes | str) -> None:
        try:
            turn = client.conversation.receive(message)
        except ProtocolError as error:
            client.connection.fail(str(error))
            return
        pending = client.pending = _Pending(client, turn)
        for request in turn.requests:
            self._host.submit(Call(request, client, partial(self._bring, pending)))
        if not turn.requests:
            self._reply(pending)

    def _reply(self, pending: _Pending) -> None:
        pending.client.pending = None
        reply = pending.reply()
        if isinstance(reply, Failure):
            logged = f" [error {reply.error_id}]" if reply.error_id else ""
            pending.client.connection.fail(f"{reply.message}{logged}")
        else:
            pending.client.connection.send(reply)

    def _drop(self, client: _Client) -> None:
        if client.left:
            return
        client.left = True
        self._poller.forget(client)
        client.connection.abort()
        for request in client.conversation.leave():
            self._host.submit(Call(request, client, lambda answer: None))

    def _say_goodbye(self) -> None:
        for client in self._clients():
            self._guarded(client, partial(client.connection.close, GOING_AWAY, "the server is leaving"))
        deadline = time.monotonic() + CLOSE_TIMEOUT_S
        while self._clients() and time.monotonic() < deadline:
            self._turn()

    def _leave(self) -> None:
        for client in self._clients():
            with client.lock:
                self._drop(client)
        self._poller.forget(self._listener)
        self._listener.close()
        self._poller.close()

    # --- the policy's thread -------------------------------------------------------------------------

    def _bring(self, pending: _Pending, answer: Answer) -> None:
        pending.answers.append(answer)
        if len(pending.answers) < len(pending.turn.requests):
            return
        client = pending.client
        with client.lock:
            if client.left:
                return
            try:
                self._reply(pending)
            except Exception as error:  # the policy's thread goes on, whatever became of a connection
                _log.log(
                    logging.INFO if isinstance(error, OSError) else logging.ERROR, "no answer: %r", error
                )
                client.connection.hang_up()
            if client.connection.interest() == select.POLLIN:
                return
        self._unsent.append(client)
        self._poller.wake()


@dataclass(frozen=True)
class WebSocketShell:
    """Implements `proctor.wire.serving.ServerShell` for one dialect."""

    dialect: str
    default_mapping: str | None
    service: Callable[[ServedPolicy], Service]
    """Raises `UsageError` for a policy or benchmark that the dialect does not carry."""
    carries_token: bool
    """Whether the dialect's own clients can send one."""
    loads: bool = False

    def start(self, served: ServedPolicy, address: Address, guard: Guard) -> RunningServer:
        """Listen, and serve from a thread of its own."""
        return WebSocketServer(self.service(served), served.host, address, guard)


def _turn_away(sock: socket.socket) -> None:
    """Say that it is full to whoever has asked already, and close."""
    sock.setblocking(False)
    with sock, contextlib.suppress(OSError):
        if sock.recv(_REQUEST_BYTES):
            sock.send(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")


def _listen(address: Address) -> socket.socket:
    if address.path:
        raise UsageError(f"{address.path}: WebSocket servers listen on a host and port")
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listener = socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(f"cannot listen on {address.host}:{address.port}: {error.strerror}") from None
    listener.setblocking(False)
    return listener
