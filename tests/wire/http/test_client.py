"""A client's requests: what comes back, what is refused, and when it gives up."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from proctor.errors import ProtocolError
from proctor.limits import MAX_HTTP_HEADER_BYTES, MAX_HTTP_REPLY_BYTES
from proctor.wire.endpoint import Endpoint, parse_endpoint
from proctor.wire.http.client import HttpClient

Play = Callable[..., Endpoint]
Script = Callable[[socket.socket], None]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def _read(sock: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"body"):
        data += sock.recv(65536)
    return data


def answer(data: bytes, *, requests: int = 1) -> Script:
    def script(sock: socket.socket) -> None:
        for _ in range(requests):
            _read(sock)
            sock.sendall(data)

    return script


def post(client: HttpClient, timeout_s: float = 5.0) -> bytes:
    return client.post("/x", b"body", timeout_s).body


def test_a_request_has_these_bytes(play: Play) -> None:
    received: list[bytes] = []

    def script(sock: socket.socket) -> None:
        received.append(_read(sock))
        sock.sendall(OK)

    endpoint = play(script)
    client = HttpClient(endpoint, {"Authorization": "Bearer secret"}, None)
    assert post(client) == b"ok"
    client.close()
    assert received == [
        b"POST /x HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer secret\r\nContent-Length: 4\r\n"
        b"Content-Type: application/json\r\n\r\nbody" % f"127.0.0.1:{endpoint.port}".encode()
    ]


def test_a_path_in_the_endpoint_comes_before_the_requests(play: Play) -> None:
    received: list[bytes] = []

    def script(sock: socket.socket) -> None:
        received.append(_read(sock))
        sock.sendall(OK)

    below = parse_endpoint(f"{play(script).text}/models/one/")
    client = HttpClient(below, {}, None)
    post(client)
    client.close()
    assert received[0].startswith(b"POST /models/one/x HTTP/1.1\r\n")


def test_a_connection_is_kept(play: Play) -> None:
    client = HttpClient(play(answer(OK, requests=3)), {}, None)
    assert [post(client) for _ in range(3)] == [b"ok"] * 3
    assert client.connections == 1
    client.close()


def test_a_connection_that_the_server_closed_meanwhile_is_replaced(play: Play) -> None:
    client = HttpClient(play(answer(OK), answer(OK)), {}, None)
    assert post(client) == b"ok"
    assert client._stream is not None
    assert client._stream.readable(time.monotonic() + 5)  # its end
    assert post(client) == b"ok"
    assert client.connections == 2
    client.close()


def test_a_server_that_says_close_gets_a_new_connection(play: Play) -> None:
    closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
    client = HttpClient(play(answer(closing), answer(OK)), {}, None)
    assert [post(client) for _ in range(2)] == [b"ok", b"ok"]
    assert client.connections == 2
    client.close()


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nok",
    ],
    ids=["interim", "chunked", "until it closes"],
)
def test_every_framing_of_a_reply_is_read(play: Play, reply: bytes) -> None:
    client = HttpClient(play(answer(reply)), {}, None)
    assert post(client) == b"ok"
    client.close()


def test_a_redirect_is_an_answer_like_any_other(play: Play) -> None:
    moved = b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    client = HttpClient(play(answer(moved)), {}, None)
    assert client.post("/x", b"body", 5).status == 307
    client.close()


def test_an_early_refusal_of_a_large_body_is_read(play: Play) -> None:
    refused = b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"

    def script(sock: socket.socket) -> None:
        sock.recv(10)
        sock.sendall(refused)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 20):
            pass

    client = HttpClient(play(script), {}, None)
    reply = client.post("/x", b"-" * (8 << 20), 5)
    assert (reply.status, reply.body) == (413, b"no")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x00\x01\x02\r\n\r\n", "does not answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "does not answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2 * MAX_HTTP_HEADER_BYTES, "does not answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 9999999, "over"),
    ],
    ids=["bytes", "length", "endless header", "large body"],
)
def test_what_is_no_reply_is_refused(play: Play, data: bytes, what: str) -> None:
    def script(sock: socket.socket) -> None:
        _read(sock)
        with suppress(OSError):
            sock.sendall(data)

    client = HttpClient(play(script), {}, None)
    with pytest.raises(ProtocolError, match=what):
        post(client)
    assert client._stream is None
    assert MAX_HTTP_REPLY_BYTES < 9999999


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", OK[:-1]])
def test_a_connection_lost_within_a_reply_is_named(play: Play, data: bytes) -> None:
    client = HttpClient(play(answer(data)), {}, None)
    with pytest.raises(ConnectionError):
        post(client)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        post(HttpClient(parse_endpoint(f"http://127.0.0.1:{port}"), {}, None))


@pytest.mark.parametrize("dripping", [False, True], ids=["silent", "a byte at a time"])
def test_the_deadline_holds_for_the_whole_reply(play: Play, dripping: bool) -> None:
    gone = threading.Event()

    def script(sock: socket.socket) -> None:
        _read(sock)
        for byte in OK if dripping else b"":
            if gone.wait(0.02):
                return
            with suppress(OSError):
                sock.sendall(bytes([byte]))
        gone.wait(5)

    client = HttpClient(play(script), {}, None)
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        post(client, timeout_s=0.1)
    gone.set()
    assert 0.1 <= time.monotonic() - started < 0.15


def test_a_late_answer_is_not_the_next_one(play: Play) -> None:
    late = threading.Event()

    def slow(sock: socket.socket) -> None:
        _read(sock)
        late.wait(5)
        with suppress(OSError):
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")

    client = HttpClient(play(slow, answer(OK)), {}, None)
    with pytest.raises(TimeoutError):
        post(client, timeout_s=0.05)
    late.set()
    assert post(client) == b"ok"
    client.close()


def test_a_server_without_tls_is_no_https_server(play: Play) -> None:
    plain = play(lambda sock: sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    secure = parse_endpoint(plain.text.replace("http:", "https:"))
    with pytest.raises(ProtocolError, match="no TLS there"):
        post(HttpClient(secure, {}, ssl.create_default_context()))
