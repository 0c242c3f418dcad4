"""A connection to a WebSocket server that speaks first, with deadlines and bounds.

The `websockets` library reads on a thread of its own, so pings are answered whatever the worker does: while
it steps the simulator, and while the server thinks. This side sends none: a server whose first inference
blocks its event loop for a minute would be taken for dead.

Proxies and redirects are off, because the library is handed a connected socket. So is compression: camera
frames do not shrink.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import struct
import time
from typing import Any, Final, NoReturn

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.version import version

from proctor.errors import (
    AccessDeniedError,
    DeadlineError,
    PolicyGoneError,
    ProctorError,
    ProtocolError,
    UsageError,
)
from proctor.limits import CLOSE_TIMEOUT_S
from proctor.wire.dialect import Access
from proctor.wire.endpoint import Endpoint
from proctor.wire.http.addresses import find_addresses
from proctor.wire.websocket.closing import error_of
from proctor.wire.websocket.sockets import keep_alive

_SINCE_15: Final[dict[str, Any]] = {"ping_interval": None} if int(version.partition(".")[0]) >= 15 else {}

_log_of_library: Final = logging.getLogger(f"{__name__}.library")
_log_of_library.setLevel(logging.CRITICAL)
"""What goes wrong there is raised here, by its right name."""


class WebSocketClient:
    """One connection, open once it is constructed. Used by one thread at a time.

    A token travels in the header `Authorization: Bearer`. Messages of the server may have `max_bytes`.

    Raises `DeadlineError` where the server does not shake hands within `timeout_s`, `PolicyGoneError` where
    it cannot be reached, `ProtocolError` where it speaks no WebSocket, `AccessDeniedError` where it refuses
    the token, `UsageError` for a public address without TLS or a certificate that is not trusted.
    """

    def __init__(self, endpoint: Endpoint, access: Access, *, max_bytes: int, timeout_s: float) -> None:
        self._where = endpoint.text
        self._max_bytes = max_bytes
        self._largest = 0
        deadline = time.monotonic() + timeout_s
        sock = _connected(endpoint, deadline)
        try:
            self._connection = _shake_hands(sock, endpoint, access, max_bytes, deadline)
        except BaseException as error:
            sock.close()
            if isinstance(error, Exception) and not isinstance(error, ProctorError):
                _refuse(error, endpoint, timeout_s)
            raise

    def send(self, message: bytes | bytearray, timeout_s: float) -> None:
        """Send a binary message. Raises as `receive` does."""
        self._largest = max(self._largest, len(message))
        sock = self._connection.socket
        # The library has no deadline for sending, and one of the Python socket would end its reading thread.
        whole = int(timeout_s)
        limit = struct.pack("ll", whole, max(1, int((timeout_s - whole) * 1e6)))
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            self._connection.send(message)
        except ConnectionClosed as error:
            if isinstance(error.__cause__, (BlockingIOError, ssl.SSLWantWriteError)):
                self._late("took no request", timeout_s)
            raise self._closed(error) from None
        except OSError as error:
            raise PolicyGoneError(f"{self._where}: the connection is lost: {error}") from None

    def receive(self, timeout_s: float) -> bytes | str:
        """The next message.

        Raises `DeadlineError`, after which the connection is closed and a late answer never read; and what a
        close of the server means: see `closing`.
        """
        try:
            return self._connection.recv(timeout=max(0.0, timeout_s))
        except TimeoutError:
            self._late("did not answer", timeout_s)
        except ConnectionClosed as error:
            raise self._closed(error) from None

    def close(self) -> None:
        """Say goodbye, and wait for CLOSE_TIMEOUT_S at most for the other side to do so too. Idempotent."""
        with contextlib.suppress(Exception):
            self._connection.close()

    def abort(self) -> None:
        """Close without a word. Idempotent."""
        with contextlib.suppress(OSError):
            self._connection.socket.shutdown(socket.SHUT_RDWR)
        self.close()

    def _late(self, what: str, timeout_s: float) -> NoReturn:
        self.abort()
        raise DeadlineError(f"{self._where}: the server {what} within {timeout_s:.3g} s") from None

    def _closed(self, error: ConnectionClosed) -> ProctorError:
        return error_of(error, self._where, largest_sent=self._largest, max_bytes=self._max_bytes)


def _connected(endpoint: Endpoint, deadline: float) -> socket.socket:
    problem: OSError = OSError(f"{endpoint.host} has no address")
    try:
        addresses = find_addresses(endpoint)
    except OSError as error:
        raise PolicyGoneError(f"{endpoint.text}: {error}") from None
    for family, address in addresses:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(max(0.001, deadline - time.monotonic()))
            sock.connect(address)
            sock.settimeout(None)
            keep_alive(sock)
        except OSError as error:
            sock.close()
            problem = error
        else:
            return sock
    raise PolicyGoneError(f"{endpoint.text}: no connection: {problem}")


def _shake_hands(
    sock: socket.socket, endpoint: Endpoint, access: Access, max_bytes: int, deadline: float
) -> ClientConnection:
    secure = endpoint.url.startswith("wss:")
    headers = {} if access.token is None else {"Authorization": f"Bearer {access.token}"}
    connection: ClientConnection = connect(
        endpoint.url,
        sock=sock,
        ssl=ssl.create_default_context(cafile=access.ca_file) if secure else None,
        additional_headers=headers,
        compression=None,
        max_size=max_bytes,
        open_timeout=max(0.001, deadline - time.monotonic()),
        close_timeout=CLOSE_TIMEOUT_S,
        logger=_log_of_library,
        **_SINCE_15,
    )
    return connection.__enter__()  # versions from 17.1 on warn where this is not called


def _refuse(error: Exception, endpoint: Endpoint, timeout_s: float) -> NoReturn:
    """Raise what a failed handshake means."""
    where = endpoint.text
    if isinstance(error, ValueError) and isinstance(error.__cause__, InvalidStatus):
        error = error.__cause__  # a redirect that the library does not follow
    if isinstance(error, InvalidStatus):
        _refuse_status(error.response.status_code, where)
    if isinstance(error, TimeoutError):
        raise DeadlineError(f"{where}: no handshake within {timeout_s:.3g} s") from None
    if isinstance(error, ssl.SSLCertVerificationError):
        raise UsageError(
            f"{where}: the server's certificate is not trusted ({error.verify_message}); name the file of the"
            " authority that signed it"
        ) from None
    if isinstance(error, ssl.SSLError):
        raise ProtocolError(f"{where}: no TLS there ({error.reason}); without it, write ws://") from None
    if isinstance(error, InvalidMessage) and not isinstance(error.__cause__, EOFError):
        raise ProtocolError(f"{where}: what answers there is no WebSocket server") from None
    if isinstance(error, (InvalidMessage, ConnectionClosed, OSError, EOFError)):
        raise PolicyGoneError(f"{where}: the server closed the connection in the handshake") from None
    if isinstance(error, InvalidHandshake):
        raise ProtocolError(f"{where}: no WebSocket handshake: {error}") from None
    raise error


def _refuse_status(status: int, where: str) -> NoReturn:
    if status in (401, 403, 407):
        raise AccessDeniedError(f"{where}: the server refuses the token or asks for one (HTTP {status})")
    if status in (429, 503):
        raise PolicyGoneError(f"{where}: the server takes no more connections (HTTP {status})")
    redirect = "; redirects are not followed" if 300 <= status < 400 else ""
    raise ProtocolError(f"{where}: no WebSocket there, it answered HTTP {status}{redirect}")
