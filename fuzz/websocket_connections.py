"""Bytes on a connection of the WebSocket server: messages within the limit, or a close."""

from __future__ import annotations

import contextlib
import select
import socket

from fuzzing import instrumented, run

with instrumented():
    from proctor.wire.exposure import Guard
    from proctor.wire.websocket.connection import Connection

_LIMIT = 256
_HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_MASK = b"\x00\x00\x00\x00"

SEEDS = (
    _HANDSHAKE + b"\x82\x84" + _MASK + b"body",
    _HANDSHAKE + b"\x02\x81" + _MASK + b"a\x89\x80" + _MASK + b"\x80\x81" + _MASK + b"b",
    _HANDSHAKE + b"\x81\xfe\x00\x80" + _MASK + b"t" * 128,
    _HANDSHAKE + b"\x82\xff\x00\x00\x00\x00\xff\xff\xff\xff" + _MASK,
    _HANDSHAKE + b"\x88\x82" + _MASK + b"\x03\xe8",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
)


def check(data: bytes) -> None:
    """Once with the handshake in front, once without; in two pieces."""
    for prefix in (b"", _HANDSHAKE):
        _serve((prefix + data)[:32_768])


def _serve(data: bytes) -> None:
    here, there = socket.socketpair()
    connection = Connection(there, Guard(), b"greeting", max_bytes=_LIMIT, full=False)
    with here, contextlib.ExitStack() as stack:
        stack.callback(connection.abort)
        stack.enter_context(contextlib.suppress(EOFError, OSError))
        for part in (data[: len(data) // 2], data[len(data) // 2 :]):
            here.sendall(part)
            for message in connection.serve(select.POLLIN):
                assert len(message) <= _LIMIT
                connection.send(message)


if __name__ == "__main__":
    run(check, SEEDS)
