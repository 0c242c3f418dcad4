"""Bytes on a connection of the HTTP server, split anywhere: answers, or a close, and nothing left running."""

from __future__ import annotations

import socket

from fuzzing import instrumented, run

with instrumented():
    from proctor.wire.http.connection import ServerConnection
    from proctor.wire.http.messages import Answer, Request, refusal
    from proctor.wire.http.stream import Stream

_LIMIT = 64


class _Echo:
    """Answers with the body."""

    def admit(self, request: Request) -> int | Answer:
        return refusal(404, "no", "nothing here") if request.path == "/no" else _LIMIT

    def answer(self, request: Request, body: bytes) -> Answer:
        assert len(body) <= _LIMIT
        return Answer(200, body)


SEEDS = (
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody",
    b"POST /a?b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
    b"HEAD /no HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
)


def check(data: bytes) -> None:
    """Send all of it and hang up; the connection must end by itself."""
    if len(data) > 32_768:
        return
    here, there = socket.socketpair()
    with here, there:
        here.sendall(data)
        here.shutdown(socket.SHUT_WR)
        ServerConnection(Stream(there), _Echo()).serve()
        there.shutdown(socket.SHUT_WR)
        while answered := here.recv(65536):
            assert b"internal_error" not in answered


if __name__ == "__main__":
    run(check, SEEDS)
