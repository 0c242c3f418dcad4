"""The client's side of one connection: send a request, wait for its answer, until a deadline."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import Final

from proctor.errors import DeadlineError, PolicyGoneError, ProtocolError
from proctor.wire.local.address import peer_uid, same_user
from proctor.wire.local.codec import FrameReader, decode_to_client, encode_frame
from proctor.wire.local.memory import send_with_descriptor
from proctor.wire.local.messages import (
    PROTOCOL,
    Answer,
    Closing,
    Greeting,
    Hello,
    Role,
    ToClient,
    ToServer,
)

_READ_BYTES: Final = 65536

_LAST_WORDS_S: Final = 0.01
"""Seconds to look for a farewell after the connection broke: it has arrived by then or never will."""


class Channel:
    """One open connection. Not thread-safe. After an error it is closed, unless the method says otherwise."""

    def __init__(self, path: str | os.PathLike[str], role: Role, timeout_s: float) -> None:
        """Connect, read the greeting and answer it.

        Raises `PolicyGoneError` where nobody listens, `DeadlineError`, and `ProtocolError` where the server
        is another user's or speaks another protocol.
        """
        self.late_replies = 0
        """Answers that came after their deadline and were dropped."""
        self._where = os.fspath(path)
        self._next_id = 0
        self._reader = FrameReader()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._timeout_s = 0.0
        try:
            self._introduce(role, time.monotonic() + timeout_s)
        except BaseException:
            self._socket.close()
            raise

    def next_id(self) -> int:
        """A number that no other request of this channel has."""
        self._next_id += 1
        return self._next_id

    def send(self, message: ToServer, timeout_s: float, *, body: bytes = b"", fd: int | None = None) -> None:
        """Send one frame. Raises `DeadlineError` or `PolicyGoneError`."""
        data = encode_frame(message, body)
        self._wait_at_most(timeout_s)
        try:
            if fd is not None:
                data = data[send_with_descriptor(self._socket, data, fd) :]
            self._socket.sendall(data)
        except TimeoutError:
            self.close()
            raise DeadlineError(
                f"{self._where}: the server did not take a request in {timeout_s} s"
            ) from None
        except OSError as error:
            self._hear_last_words()
            raise self._gone(error) from None

    def answer(self, request_id: int, timeout_s: float) -> tuple[Answer, bytearray]:
        """The answer to one request; others are late ones, which are counted and dropped.

        Raises `DeadlineError`, after which the channel stays open, `PolicyGoneError` or `ProtocolError`.
        """
        self._wait_at_most(timeout_s)
        try:
            return self._await(request_id, time.monotonic() + timeout_s)
        except DeadlineError:
            raise DeadlineError(f"{self._where}: no answer within {timeout_s} s") from None

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._socket.close()

    def _await(self, request_id: int, deadline: float) -> tuple[Answer, bytearray]:
        while True:
            message, body = self._receive(deadline)
            if isinstance(message, Greeting):
                self.close()
                raise ProtocolError(f"{self._where}: a second greeting")
            if message.id == request_id:
                return message, body
            self.late_replies += 1
            self._wait_until(deadline)

    def _introduce(self, role: Role, deadline: float) -> None:
        self._wait_until(deadline)
        try:
            self._socket.connect(self._where)
        except TimeoutError:
            raise DeadlineError(f"{self._where}: no connection in time") from None
        except OSError as error:
            raise PolicyGoneError(f"{self._where}: no policy server: {error.strerror}") from None
        if not same_user(self._socket):
            raise ProtocolError(f"{self._where}: the server belongs to user {peer_uid(self._socket)}")
        greeting, _ = self._receive(deadline)
        if not isinstance(greeting, Greeting) or greeting.protocol != PROTOCOL:
            spoken = getattr(greeting, "protocol", type(greeting).__name__)
            raise ProtocolError(f"{self._where}: the server speaks {spoken!r}, this client {PROTOCOL}")
        self.send(Hello(PROTOCOL, role), max(0.001, deadline - time.monotonic()))

    def _receive(self, deadline: float) -> tuple[Greeting | Answer, bytearray]:
        try:
            while (frame := self._reader.next_frame()) is None:
                self._read(deadline)
            message: ToClient = decode_to_client(frame[0])
        except ProtocolError:
            self.close()
            raise
        if isinstance(message, Closing):
            self.close()
            kind = PolicyGoneError if message.reason == "leaving" else ProtocolError
            raise kind(f"{self._where}: the server closed the connection: {message.message}")
        return message, frame[1]

    def _hear_last_words(self) -> None:
        """The server closed: raise what it said before, if it said something."""
        with contextlib.suppress(DeadlineError):
            while True:
                self._receive(time.monotonic() + _LAST_WORDS_S)

    def _read(self, deadline: float) -> None:
        try:
            data = self._socket.recv(_READ_BYTES)
        except TimeoutError:
            raise DeadlineError(f"{self._where}: no answer in time") from None
        except OSError as error:
            raise self._gone(error) from None
        if not data:
            self.close()
            self._reader.end()
            raise PolicyGoneError(f"{self._where}: the server closed the connection")
        self._reader.feed(data)
        if self._reader.missing():
            self._wait_until(deadline)

    def _wait_until(self, deadline: float) -> None:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise DeadlineError(f"{self._where}: no answer in time")
        self._wait_at_most(remaining)

    def _wait_at_most(self, timeout_s: float) -> None:
        if timeout_s != self._timeout_s:
            self._socket.settimeout(timeout_s)
            self._timeout_s = timeout_s

    def _gone(self, error: OSError) -> PolicyGoneError:
        self.close()
        return PolicyGoneError(f"{self._where}: the connection broke: {error.strerror or error}")
