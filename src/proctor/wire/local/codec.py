"""The local dialect as bytes: frames and their headers, and nothing that reads or writes a socket.

A frame is two little-endian uint32, the lengths of header and body; then the header, one msgpack array whose
first element names the message; then the body: raw array bytes, empty in most frames.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from proctor.errors import ProtocolError
from proctor.limits import MAX_BODY_FRAME_BYTES, MAX_CONTEXT_BYTES, MAX_HEADER_BYTES
from proctor.wire.local.messages import PROTOCOL, ToClient, ToServer

_PREFIX: Final = struct.Struct("<II")
_encoder: Final = msgspec.msgpack.Encoder()
_to_server: Final = msgspec.msgpack.Decoder(ToServer)
_to_client: Final = msgspec.msgpack.Decoder(ToClient)

_LONG: Final = tuple(
    map(_encoder.encode, ("act", "act_batch", "layout", "failed", "closing", "chunk", "chunks"))
)
"""Tags, as they travel, of messages that hold no map of anything."""


def encode_frame(message: ToServer | ToClient, body: bytes = b"") -> bytes:
    """One frame. Raises `ProtocolError` for what cannot be encoded, or is larger than may be accepted."""
    try:
        header = _encoder.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ProtocolError(f"{type(message).__name__} cannot travel: {error}") from None
    if len(header) > MAX_HEADER_BYTES or len(body) > MAX_BODY_FRAME_BYTES:
        raise ProtocolError(_oversize(len(header), len(body)))
    return _PREFIX.pack(len(header), len(body)) + header + body


def decode_to_server(header: bytes | bytearray) -> ToServer:
    """A header sent by a client. Raises `ProtocolError`, and nothing else, for any other bytes."""
    _check_size(header)
    try:
        return _to_server.decode(header)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ProtocolError(f"not a request of {PROTOCOL}: {error}") from None


def decode_to_client(header: bytes | bytearray) -> ToClient:
    """A header sent by a server. Raises `ProtocolError`, and nothing else, for any other bytes."""
    _check_size(header)
    try:
        return _to_client.decode(header)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ProtocolError(f"not an answer of {PROTOCOL}: {error}") from None


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Append what was received."""
        self._buffer += data

    def next_frame(self) -> tuple[bytearray, bytearray] | None:
        """Header and body of the next whole frame, or None.

        Raises `ProtocolError` once the announced lengths are beyond the limits; the stream is then useless.
        """
        buffer = self._buffer
        if len(buffer) < _PREFIX.size:
            return None
        header_size, body_size = _PREFIX.unpack_from(buffer)
        if header_size > MAX_HEADER_BYTES or body_size > MAX_BODY_FRAME_BYTES:
            raise ProtocolError(_oversize(header_size, body_size))
        start = _PREFIX.size + header_size
        end = start + body_size
        if len(buffer) < end:
            return None
        header, body = buffer[_PREFIX.size : start], buffer[start:end]
        del buffer[:end]
        return header, body

    def missing(self) -> int:
        """Bytes that the next frame lacks, as far as its lengths are known; 0 if all of it is there."""
        if len(self._buffer) < _PREFIX.size:
            return _PREFIX.size - len(self._buffer)
        header_size, body_size = _PREFIX.unpack_from(self._buffer)
        return max(0, _PREFIX.size + int(header_size) + int(body_size) - len(self._buffer))

    def end(self) -> None:
        """The stream ended. Raises `ProtocolError` if it did so inside a frame."""
        if self._buffer:
            raise ProtocolError(f"the stream ended inside a frame, {len(self._buffer)} bytes into it")


def _check_size(header: bytes | bytearray) -> None:
    if len(header) > MAX_CONTEXT_BYTES and not header[1:12].startswith(_LONG):
        raise ProtocolError(
            f"header of {len(header)} bytes; at most {MAX_CONTEXT_BYTES} travel with a context"
        )


def _oversize(header_size: int, body_size: int) -> str:
    return (
        f"frame of {header_size} header and {body_size} body bytes; "
        f"at most {MAX_HEADER_BYTES} and {MAX_BODY_FRAME_BYTES} travel"
    )
