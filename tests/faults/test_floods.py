"""Many clients at once that say half of something, or nothing: they are left, and others served meanwhile."""

from __future__ import annotations

import contextlib
import http.client
import socket
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.limits import HTTP_BODY_TIMEOUT_S, HTTP_HEADER_TIMEOUT_S, MAX_CONNECTIONS
from proctor.wire.endpoint import parse_endpoint
from proctor.wire.http import connection as http_connection
from proctor.wire.websocket import connection as websocket_connection

from .served import descriptors, frame, post, raw, serving, websocket
from .wires import lives, open_session

HALF_HEADER = b"POST /episode/init HTTP/1.1\r\nHost: x\r\nX-Slow: "
HALF_BODY = post("/episode/init", b"{", announced=1000)
HALF_FRAME = frame(b"half", announced=1000)

TCP = ("episode-http", "openpi")


@pytest.fixture(params=TCP)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    with serving(request.param, tmp_path) as address:
        yield request.param, address


@contextlib.contextmanager
def slow(name: str, address: str, count: int, stage: str) -> Iterator[list[socket.socket]]:
    """So many connections that have said half of a header, or half of a message."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            opened = websocket(address) if (name, stage) == ("openpi", "message") else raw(address)
            sock = stack.enter_context(opened)
            half = HALF_FRAME if name == "openpi" else HALF_BODY
            sock.sendall(HALF_HEADER if stage == "header" else half)
            made.append(sock)
        yield made


def await_close(socks: list[socket.socket]) -> None:
    """Read until the server has closed each of them."""
    for sock in socks:
        with contextlib.suppress(ConnectionResetError):
            while sock.recv(4096):
                pass


def health_p99(name: str, address: str, seconds: float) -> float:
    """Seconds in which 99 of 100 small requests on connections of their own were answered."""
    endpoint, took, until = parse_endpoint(address), list[float](), time.monotonic() + seconds
    while time.monotonic() < until or len(took) < 20:
        began = time.monotonic()
        web = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=5)
        web.request("GET", "/healthz")
        assert web.getresponse().status == (200 if name == "openpi" else 404)
        web.close()
        took.append(time.monotonic() - began)
        time.sleep(0.002)
    return statistics.quantiles(took, n=100)[98]


@pytest.mark.parametrize("stage", ["header", "message"])
def test_who_stops_within_a_message_is_left_and_the_others_are_served(
    server: tuple[str, str], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, address = server
    monkeypatch.setattr(http_connection, "HTTP_HEADER_TIMEOUT_S", 0.3)
    monkeypatch.setattr(http_connection, "HTTP_BODY_TIMEOUT_S", 0.3)
    for waits in ("opening", "message"):
        monkeypatch.setitem(websocket_connection._PATIENCE_S, waits, 0.3)
    session = open_session(name, address)
    before = descriptors()
    with slow(name, address, 40, stage) as socks:
        assert health_p99(name, address, 0.1) < 0.2
        assert lives(session)
        began = time.monotonic()
        await_close(socks)
        assert time.monotonic() - began < 3
    assert lives(session, 50)
    session.close()
    assert descriptors() <= before + 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "most_s"), [("header", HTTP_HEADER_TIMEOUT_S), ("message", HTTP_BODY_TIMEOUT_S)]
)
def test_two_hundred_of_them_in_their_real_time(server: tuple[str, str], stage: str, most_s: float) -> None:
    name, address = server
    session = open_session(name, address)
    began = time.monotonic()
    with slow(name, address, 200, stage) as socks:
        for sock in socks:
            sock.settimeout(60)
        assert health_p99(name, address, 3) < 0.2
        assert lives(session)
        await_close(socks)
        assert time.monotonic() - began < most_s + 2
    assert lives(session, 50)
    session.close()


def test_a_thousand_connections_are_served_or_told_that_it_is_full(server: tuple[str, str]) -> None:
    name, address = server
    session = open_session(name, address)
    assert lives(session)
    before = descriptors()
    answers = []
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(raw(address)) for _ in range(1000)]
        for sock in held[-5:]:
            with contextlib.suppress(OSError):
                sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                answers.append(sock.recv(12))
        assert all(answer in (b"HTTP/1.1 503", b"HTTP/1.1 200", b"") for answer in answers), answers
        assert descriptors() - before <= 1000 + MAX_CONNECTIONS + 600  # of both ends, refusals included
    deadline = time.monotonic() + 10
    while descriptors() > before + 5:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert lives(session, 50)
    session.close()
