"""The server's side: a thread for each connection, one request at a time on it."""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from proctor.errors import ProtocolError, UsageError
from proctor.limits import DRAIN_TIMEOUT_S, EVOSTUDIO_FRAME_TIMEOUT_S, MAX_CONNECTIONS
from proctor.policy.polling import Poller
from proctor.wire.evostudio.codec import FrameReader
from proctor.wire.evostudio.operations import Operations
from proctor.wire.exposure import Guard
from proctor.wire.local.address import default_socket_path, listen, peer_uid, same_user
from proctor.wire.presets import CANONICAL
from proctor.wire.serving import Address, ServedPolicy

_READ_BYTES: Final = 65536
_TURN_S: Final = 1.0

_log = logging.getLogger(__name__)


class EvoStudioShell:
    """Implements `proctor.wire.serving.ServerShell`."""

    dialect = "evostudio"
    carries_token = False
    loads = True
    default_mapping: str | None = CANONICAL

    def start(self, served: ServedPolicy, address: Address, guard: Guard) -> EvoStudioServer:
        """Listen at `address.path`, else where the SDK's clients look."""
        if guard.token is not None or guard.networks or guard.tls is not None:
            raise UsageError("evostudio is served at a socket file, whose mode 0600 is what protects it")
        return EvoStudioServer(served, Path(address.path) if address.path else default_socket_path())


SERVER: Final = EvoStudioShell()


class EvoStudioServer:
    """Listens from its making on, and serves processes of the same user until `close`."""

    def __init__(self, served: ServedPolicy, path: Path) -> None:
        """Raises `UsageError` where the socket cannot be made."""
        self._path = path
        self._operations = Operations(served.host)
        self._listener = listen(path)
        self._poller: Poller[socket.socket] = Poller()
        self._poller.watch(self._listener, select.POLLIN)
        self._connections: set[_Connection] = set()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._accept_all, name="evostudio", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """`unix:/path/to/socket`."""
        return f"unix:{self._path}"

    def close(self) -> None:
        """Take no more connections, close those there are, wait for the threads. Idempotent."""
        self._closing.set()
        self._poller.wake()
        self._thread.join()
        deadline = time.monotonic() + DRAIN_TIMEOUT_S
        for connection in list(self._connections):
            connection.leave(deadline)

    def _accept_all(self) -> None:
        while not self._closing.is_set():
            if self._poller.wait(_TURN_S):
                self._accept()
        self._poller.forget(self._listener)
        self._poller.close()
        self._listener.close()
        self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError as error:
            if not isinstance(error, BlockingIOError):
                _log.warning("a connection was not accepted: %s", error)
            return
        if not same_user(sock):
            _log.warning("refused a connection from user %s", peer_uid(sock))
            sock.close()
        elif len(self._connections) >= MAX_CONNECTIONS:
            _log.warning("refused a connection: %d are open", MAX_CONNECTIONS)
            sock.close()
        else:
            connection = _Connection(sock, self._operations, self._connections.discard)
            self._connections.add(connection)
            connection.start()


class _Connection(threading.Thread):
    """One client. `requests` counts what it asked for."""

    def __init__(
        self, sock: socket.socket, operations: Operations, ended: Callable[[_Connection], None]
    ) -> None:
        super().__init__(name="evostudio connection", daemon=True)
        self.requests = 0
        self._socket, self._operations, self._ended = sock, operations, ended
        self._reader = FrameReader()
        self._over = False

    def has_left(self) -> bool:
        """Whether the client has closed its end."""
        if self._over:
            return True
        poll = select.poll()
        try:
            poll.register(self._socket, 0)  # a hang-up is reported unasked
        except ValueError:
            return True
        return bool(poll.poll(0))

    def leave(self, deadline: float) -> None:
        """Read nothing more; wait until what was asked is answered."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RD)
        self.join(max(0.0, deadline - time.monotonic()))
        if self.is_alive():
            _log.warning("a connection still waits for the policy")

    def run(self) -> None:
        """Answer until the client leaves or says something that is no request."""
        try:
            self._converse()
        except ProtocolError as error:
            _log.warning("closing a connection: %s", error)
            self._send_last(self._operations.protocol_error(error))
        except (OSError, MemoryError) as error:
            _log.info("a connection ended: %s", error)
        finally:
            self._over = True
            self._socket.close()
            self._operations.leave(self)
            self._ended(self)

    def _converse(self) -> None:
        while (body := self._receive()) is not None:
            self._send(self._operations.answer(body, self))

    def _receive(self) -> bytearray | None:
        """The next body; None where the client left between two."""
        deadline: float | None = None
        while (body := self._reader.next_frame()) is None:
            if self._reader.begun and deadline is None:
                deadline = time.monotonic() + EVOSTUDIO_FRAME_TIMEOUT_S
            self._socket.settimeout(None if deadline is None else max(0.001, deadline - time.monotonic()))
            try:
                data = self._socket.recv(_READ_BYTES)
            except TimeoutError:
                raise ProtocolError(
                    f"a message took longer than {EVOSTUDIO_FRAME_TIMEOUT_S:g} s to arrive"
                ) from None
            if not data:
                self._reader.end()
                return None
            self._reader.feed(data)
        return body

    def _send(self, frame: bytes) -> None:
        self._socket.settimeout(DRAIN_TIMEOUT_S)
        self._socket.sendall(frame)

    def _send_last(self, frame: bytes) -> None:
        with contextlib.suppress(OSError):
            self._send(frame)
