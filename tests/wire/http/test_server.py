"""A server's connections: framing, deadlines, bounds, and that nobody's misbehaviour is another's."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from proctor.errors import UsageError
from proctor.wire.endpoint import parse_endpoint
from proctor.wire.http import connection, server
from proctor.wire.http.client import HttpClient
from proctor.wire.http.messages import Answer, Request, refusal
from proctor.wire.http.server import HttpServer
from proctor.wire.http.tls import client_tls

LIMIT = 1000


class Echo:
    """Answers with the body; `/wait` first waits until it is let go."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.waiting, self.go = threading.Event(), threading.Event()

    def admit(self, request: Request) -> int | Answer:
        self.requests.append(request)
        return refusal(404, "no", "nothing here") if request.path == "/no" else LIMIT

    def answer(self, request: Request, body: bytes) -> Answer:
        if request.path == "/wait":
            self.waiting.set()
            self.go.wait(5)
        if request.path == "/bug":
            raise ZeroDivisionError("a bug")
        return Answer(200, body)


@pytest.fixture
def echo() -> Iterator[Echo]:
    application = Echo()
    yield application
    application.go.set()


@pytest.fixture
def http(echo: Echo) -> Iterator[HttpServer]:
    running = HttpServer(echo, "127.0.0.1", 0, max_connections=4)
    running.start()
    yield running
    echo.go.set()
    running.stop(5)


def connect(http: HttpServer) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", http.port))
    sock.settimeout(5)
    return sock


def exchange(http: HttpServer, data: bytes) -> bytes:
    """Send this, and read until the server closes."""
    with connect(http) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        return read_all(sock)


def read_all(sock: socket.socket) -> bytes:
    received = b""
    while data := sock.recv(65536):
        received += data
    return received


def post(body: bytes, path: str = "/", *headers: str) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def code_of(answer: bytes) -> tuple[int, str]:
    """Status and error code of an answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]


def test_requests_of_one_connection_are_answered_in_order(http: HttpServer) -> None:
    with connect(http) as sock:
        for body in (b"one", b"two"):
            sock.sendall(post(body))
            assert sock.recv(65536).endswith(b"\r\n\r\n" + body)


def test_requests_that_come_at_once_are_answered_one_by_one(http: HttpServer) -> None:
    answers = exchange(http, post(b"one") + post(b"two"))
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert answers.index(b"one") < answers.index(b"two")


def test_an_application_sees_method_path_and_headers(http: HttpServer, echo: Echo) -> None:
    exchange(http, post(b"", "/a/b?c=d", "X-Name: value"))
    (request,) = echo.requests
    assert (request.method, request.path, request.headers["x-name"]) == ("POST", "/a/b", "value")


def test_a_chunked_body_is_put_together(http: HttpServer) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    assert exchange(http, head + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n").endswith(b"\r\n\r\nabc")


def test_who_expects_to_be_told_is_told_to_go_on(http: HttpServer) -> None:
    with connect(http) as sock:
        sock.sendall(post(b"", "/", "Expect: 100-continue").replace(b"Length: 0", b"Length: 4"))
        assert sock.recv(65536).startswith(b"HTTP/1.1 100 ")
        sock.sendall(b"body")
        assert sock.recv(65536).endswith(b"body")


def test_who_expects_to_be_told_is_refused_without_a_body(http: HttpServer) -> None:
    head = post(b"", "/", "Expect: 100-continue").replace(b"Length: 0", b"Length: 5000")
    assert code_of(exchange(http, head)) == (413, "too_large")


def test_a_head_request_gets_no_body(http: HttpServer) -> None:
    answer = exchange(http, b"HEAD /no HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"\x16\x03\x01 not http\r\n\r\n", 400, "not_http"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, "not_http"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "not_http"),
        (b"POST / HTTP/1.1\r\n\r\n", 400, "not_http"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 40_000, 431, "not_http"),
        (post(b"x", "/no"), 404, "no"),
        (post(b"x" * (LIMIT + 1)), 413, "too_large"),
        (post(b"", "/", "Content-Encoding: gzip"), 415, "encoded_body"),
        (post(b"", "/bug"), 500, "internal_error"),
    ],
)
def test_what_is_refused(http: HttpServer, data: bytes, status: int, code: str) -> None:
    answer = exchange(http, data)
    assert code_of(answer) == (status, code)
    assert b"connection: close" in answer.lower()
    assert exchange(http, post(b"well")).endswith(b"well")


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"400\r\n" + b"x" * 1024 + b"\r\n"


def test_a_body_may_not_grow_over_its_bound(http: HttpServer) -> None:
    assert code_of(exchange(http, CHUNKED + CHUNK)) == (413, "too_large")


def test_a_body_without_end_is_not_read_to_its_end(http: HttpServer) -> None:
    sent = 0
    with connect(http) as sock, suppress(OSError):
        sock.sendall(CHUNKED)
        while sent < 64 << 20:
            sock.sendall(CHUNK)
            sent += len(CHUNK)
    assert sent < 16 << 20  # what the two sockets hold


def test_a_large_announcement_is_refused_while_it_is_sent(http: HttpServer) -> None:
    with connect(http) as sock:
        sock.sendall(post(b"x" * 2000, "/").replace(b"Length: 2000", b"Length: 300000000"))
        assert code_of(read_all(sock)) == (413, "too_large")


def test_half_a_header_is_not_waited_for(http: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HTTP_HEADER_TIMEOUT_S", 0.05)
    slow = [connect(http) for _ in range(3)]
    for sock in slow:
        sock.sendall(b"POST / HTTP/1.1\r\nHost:")
    assert exchange(http, post(b"others")).endswith(b"others")
    for sock in slow:
        assert read_all(sock) == b""
        sock.close()


def test_a_connection_that_says_nothing_is_closed(http: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HTTP_HEADER_TIMEOUT_S", 0.05)
    with connect(http) as sock:
        assert read_all(sock) == b""


def test_a_stalled_body_is_not_waited_for(http: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HTTP_BODY_TIMEOUT_S", 0.05)
    with connect(http) as sock:
        sock.sendall(post(b"half").replace(b"Length: 4", b"Length: 8"))
        assert code_of(read_all(sock)) == (408, "body_timeout")


def test_connections_over_the_limit_are_told_so(http: HttpServer) -> None:
    held = [connect(http) for _ in range(4)]
    for sock in held:
        sock.sendall(post(b"held"))
        assert sock.recv(65536).endswith(b"held")
    with connect(http) as sock:
        sock.sendall(post(b"one more"))
        assert code_of(read_all(sock)) == (503, "too_many_connections")
    held.pop().close()
    _eventually(lambda: http.connections == 3)
    assert exchange(http, post(b"there is room")).endswith(b"there is room")
    for sock in held:
        sock.close()


def test_no_descriptor_is_left(http: HttpServer) -> None:
    before = _descriptors()
    for _ in range(20):
        exchange(http, post(b"x"))
    for _ in range(20):
        connect(http).close()
    _eventually(lambda: _descriptors() <= before)


def test_a_refused_peer_reads_nothing(echo: Echo) -> None:
    running = HttpServer(echo, "127.0.0.1", 0, admits=lambda peer: peer != "127.0.0.1")
    running.start()
    with connect(running) as sock:
        assert read_all(sock) == b""
    running.stop(5)
    assert echo.requests == []


def test_stop_closes_idle_connections_and_finishes_an_answer(http: HttpServer, echo: Echo) -> None:
    with connect(http) as busy, connect(http) as idle:
        busy.sendall(post(b"busy", "/wait"))
        assert echo.waiting.wait(5)
        idle.sendall(post(b"idle"))
        assert idle.recv(65536).endswith(b"idle")
        stopping = threading.Thread(target=http.stop, args=(5,))
        stopping.start()
        assert read_all(idle) == b""  # the last to be stopped
        echo.go.set()
        answer = read_all(busy)
    stopping.join(5)
    assert answer.endswith(b"busy")
    assert b"connection: close" in answer.lower()
    assert http.connections == 0


def test_an_address_that_is_taken_is_named(http: HttpServer, echo: Echo) -> None:
    with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{http.port}"):
        HttpServer(echo, "127.0.0.1", http.port).start()


def test_one_connection_can_be_over_the_limit_without_being_read(
    http: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_TURNED_AWAY_S", 0.05)
    held = [connect(http) for _ in range(5)]
    assert code_of(read_all(held[4])) == (503, "too_many_connections")
    for sock in held:
        sock.close()


class TestTls:
    """The same over TLS, with a certificate of our own."""

    @pytest.fixture
    def tls(self, echo: Echo, certificate: tuple[Path, Path]) -> Iterator[HttpServer]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        running = HttpServer(echo, "127.0.0.1", 0, tls=context)
        running.start()
        yield running
        running.stop(5)

    def test_who_trusts_the_certificate_is_served(
        self, tls: HttpServer, certificate: tuple[Path, Path]
    ) -> None:
        client = _client(tls, certificate)
        assert [client.post("/", body, 5).body for body in (b"one", b"two")] == [b"one", b"two"]
        assert client.connections == 1
        client.close()

    def test_an_early_refusal_of_a_large_body_is_read(
        self, tls: HttpServer, certificate: tuple[Path, Path]
    ) -> None:
        client = _client(tls, certificate)
        assert client.post("/", bytes(32 << 20), 5).status == 413
        client.close()

    def test_who_does_not_leaves(self, tls: HttpServer) -> None:
        client = HttpClient(parse_endpoint(f"https://localhost:{tls.port}"), {}, ssl.create_default_context())
        with pytest.raises(UsageError, match="certificate is not trusted"):
            client.post("/", b"", 5)

    def test_plain_http_is_told_to_speak_tls(self, tls: HttpServer, echo: Echo) -> None:
        with connect(tls) as sock:
            sock.sendall(post(b"in the clear"))
            assert code_of(read_all(sock)) == (400, "plain_http")
        assert echo.requests == []

    @pytest.mark.parametrize("greeting", [b"", b"\x16\x03", b"\x16" + bytes(64), b"\x80\x2e"])
    def test_what_is_neither_ends_its_own_connection_alone(
        self, tls: HttpServer, certificate: tuple[Path, Path], greeting: bytes
    ) -> None:
        with connect(tls) as sock, suppress(OSError):  # at any of the three it may have been cut off
            sock.sendall(greeting)
            sock.shutdown(socket.SHUT_WR)
            read_all(sock)
        client = _client(tls, certificate)
        assert client.post("/", b"one", 5).body == b"one"
        client.close()


def _client(server: HttpServer, certificate: tuple[Path, Path]) -> HttpClient:
    return HttpClient(parse_endpoint(f"https://localhost:{server.port}"), {}, client_tls(str(certificate[0])))


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)
