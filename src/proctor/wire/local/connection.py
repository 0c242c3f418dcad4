"""The server's side of one connection: frames in, frames out, never blocking."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from typing import Final

from proctor.errors import ProtocolError
from proctor.limits import DRAIN_TIMEOUT_S
from proctor.wire.local.codec import FrameReader, decode_to_server, encode_frame
from proctor.wire.local.memory import receive_with_descriptors
from proctor.wire.local.messages import Closing, Reason, ToClient, ToServer

_READ_BYTES: Final = 8192
"""Bytes asked of the socket at once. Only inline arrays need more, and then it is known how much."""

_READ_AT_MOST: Final = 1 << 20


class Connection:
    """One accepted socket. Used by one thread at a time."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._reader = FrameReader()
        self._descriptors: list[int] = []
        self._unsent = b""
        self._unsent_since = 0.0
        self._broken = False

    def fileno(self) -> int:
        """The socket's descriptor, -1 once closed."""
        return self._socket.fileno()

    @property
    def draining(self) -> bool:
        """Whether an answer waits because the other side did not read."""
        return bool(self._unsent)

    def overdue(self) -> bool:
        """Whether an answer has waited for more than DRAIN_TIMEOUT_S."""
        return bool(self._unsent) and time.monotonic() - self._unsent_since > DRAIN_TIMEOUT_S

    def read(self) -> None:
        """Take what the socket has, without waiting.

        Raises `EOFError` where the stream ended, `ProtocolError` where it did so inside a frame or brought
        descriptors that nobody announced.
        """
        size = min(max(_READ_BYTES, self._reader.missing()), _READ_AT_MOST)
        try:
            data, descriptors = receive_with_descriptors(self._socket, size)
        except BlockingIOError:
            return
        if descriptors:
            self._descriptors += descriptors
            if len(self._descriptors) > 1:
                raise ProtocolError("descriptors came that no memory message announced")
        if not data:
            self._reader.end()
            raise EOFError
        self._reader.feed(data)

    def next_message(self) -> tuple[ToServer, bytearray] | None:
        """The next whole frame of what was read. Raises `ProtocolError`."""
        frame = self._reader.next_frame()
        return None if frame is None else (decode_to_server(frame[0]), frame[1])

    def has_frame(self) -> bool:
        """Whether `next_message` would return one, or raise."""
        return self._reader.missing() == 0

    def take_descriptor(self) -> int:
        """The descriptor that came with a memory message; the caller closes it. Raises `ProtocolError`."""
        if not self._descriptors:
            raise ProtocolError("a memory message came without a descriptor")
        return self._descriptors.pop()

    def send(self, message: ToClient, body: bytes = b"") -> None:
        """Send a frame, or keep what does not fit until `flush`. Never raises for the other side's fault."""
        data = encode_frame(message, body)
        if self._broken:
            return
        if not self._unsent:
            self._unsent_since = time.monotonic()
        self._unsent += data
        try:
            self.flush()
        except OSError:
            self._broken = True  # the next read says so to whoever polls
            self._unsent = b""

    def flush(self) -> None:
        """Send more of what waits."""
        with contextlib.suppress(BlockingIOError):
            sent = self._socket.send(self._unsent)
            self._unsent = self._unsent[sent:]

    def has_left(self) -> bool:
        """Whether the other side has closed, whatever it sent before."""
        if self._broken or self.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._socket, 0)  # a hang-up is reported unasked
        return bool(poll.poll(0))

    def close(self, reason: Reason, message: str) -> None:
        """Close, telling the other side why if it still listens. Idempotent, never raises."""
        if self.fileno() >= 0 and not self._unsent:
            self.send(Closing(reason, message))
        for fd in self._descriptors:
            os.close(fd)
        self._descriptors.clear()
        self._socket.close()
