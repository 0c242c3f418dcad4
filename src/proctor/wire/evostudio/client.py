"""The client: one connection, one request at a time, each reply matched by its id."""

from __future__ import annotations

import socket
import time
import uuid
from typing import Final, TypeVar

from proctor.errors import (
    DeadlineError,
    InvalidActionError,
    PolicyGoneError,
    PolicyLoadError,
    PolicyRaisedError,
    ProctorError,
    ProtocolError,
    RequestRefusedError,
)
from proctor.limits import MAX_ERROR_TEXT, MAX_EVOSTUDIO_CONTEXT_BYTES
from proctor.policy.lifecycle import PolicyState
from proctor.wire.evostudio.codec import FrameReader, decode_part, decode_reply, encode_request
from proctor.wire.evostudio.messages import WITH_ARRAYS, Fault
from proctor.wire.local.address import peer_uid, same_user

_READ_BYTES: Final = 65536
_Result = TypeVar("_Result")

_BY_CODE: Final[dict[str, type[ProctorError]]] = {
    "refused": RequestRefusedError,
    "policy_raised": PolicyRaisedError,
    "invalid_action": InvalidActionError,
    "load_failed": PolicyLoadError,
    "policy_gone": PolicyGoneError,
}


class EvoStudioRemoteError(ProctorError):
    """The server answered that a request could not be fulfilled. Its traceback stays where it is."""

    def __init__(self, operation: str, fault: Fault) -> None:
        self.operation, self._fault = operation, fault
        self.state = fault.state
        suffix = f" [error {fault.error_id}]" if fault.error_id else ""
        super().__init__(f"{operation}: {fault.type}: {fault.message[:MAX_ERROR_TEXT]}{suffix}")

    def fault(self) -> ProctorError:
        """The same as the class of `proctor.errors` that says who can mend it.

        Servers of the SDK give no code. With them a ProtocolError means the wrong state, and a state other
        than ready, once loaded, is never left again.
        """
        known = _BY_CODE.get(self._fault.code)
        if known is not None:
            return known(str(self))
        if self.operation == "load":
            return PolicyLoadError(str(self))
        if self._fault.type != ProtocolError.__name__:
            return PolicyRaisedError(str(self))
        lost = self.state not in (PolicyState.CREATED.value, PolicyState.READY.value)
        return PolicyGoneError(str(self)) if lost else RequestRefusedError(str(self))


class EvoStudioClient:
    """Talks to the server at a socket's path. Not thread-safe.

    The connection is opened when it is first needed, and again after it was closed: by a missed deadline, by
    bytes that are no reply, or by the server.
    """

    def __init__(self, path: str) -> None:
        self.late_replies = 0
        """Replies that were dropped: they answered nothing that was waited for."""
        self._path = path
        self._socket: socket.socket | None = None
        self._reader = FrameReader()

    def ask(self, operation: str, payload: object, kind: type[_Result], timeout_s: float) -> _Result:
        """Send a request and wait for the result.

        Raises `EvoStudioRemoteError` where the server refuses, `RequestRefusedError` for a payload that does
        not travel, `DeadlineError`, `PolicyGoneError`, `ProtocolError`.
        """
        request_id = str(uuid.uuid4())
        try:
            frame = encode_request(request_id, operation, payload)
        except ProtocolError as error:
            raise RequestRefusedError(f"{operation}: {error}") from None
        deadline = time.monotonic() + timeout_s
        try:
            self._send(frame, deadline)
            return self._await(request_id, operation, kind, deadline)
        except TimeoutError:
            self.close()  # a late reply comes on a connection that is closed, and is never read
            raise DeadlineError(f"{self._path}: {operation} was not answered within {timeout_s} s") from None
        except OSError as error:
            self.close()
            raise PolicyGoneError(f"{self._path}: the connection broke: {error.strerror or error}") from None
        except (PolicyGoneError, ProtocolError):
            self.close()
            raise

    def close(self) -> None:
        """Close the connection. Idempotent."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._reader = FrameReader()

    def _send(self, frame: bytes, deadline: float) -> None:
        connection = self._socket or self._connect(deadline)
        connection.settimeout(_remaining(deadline))
        connection.sendall(frame)

    def _connect(self, deadline: float) -> socket.socket:
        self._socket = connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_remaining(deadline))
        try:
            connection.connect(self._path)
        except TimeoutError:
            raise
        except OSError as error:
            raise PolicyGoneError(f"{self._path}: no policy server: {error.strerror}") from None
        if not same_user(connection):
            raise ProtocolError(f"{self._path}: the server belongs to user {peer_uid(connection)}")
        return connection

    def _await(self, request_id: str, operation: str, kind: type[_Result], deadline: float) -> _Result:
        while True:
            reply = decode_reply(self._receive(deadline))
            if reply.request_id == request_id:
                break
            fault = reply.error
            if fault is not None and not reply.request_id:
                raise ProtocolError(
                    f"the server did not understand {operation}: {fault.type}: {fault.message}"
                )
            self.late_replies += 1
        if not reply.ok:
            raise EvoStudioRemoteError(operation, reply.error or Fault())
        size = memoryview(reply.result).nbytes
        if operation not in WITH_ARRAYS and size > MAX_EVOSTUDIO_CONTEXT_BYTES:
            raise ProtocolError(
                f"{operation}: a result of {size} bytes; at most {MAX_EVOSTUDIO_CONTEXT_BYTES}"
            )
        try:
            return decode_part(reply.result, kind)
        except ProtocolError as error:
            if operation == "act":
                raise InvalidActionError(f"{operation}: not the form of an answer: {error}") from None
            raise ProtocolError(f"{operation}: not the form of an answer: {error}") from None

    def _receive(self, deadline: float) -> bytearray:
        assert self._socket is not None
        while (body := self._reader.next_frame()) is None:
            self._socket.settimeout(_remaining(deadline))
            data = self._socket.recv(_READ_BYTES)
            if not data:
                self._reader.end()
                raise PolicyGoneError(f"{self._path}: the server closed the connection")
            self._reader.feed(data)
        return body


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining
