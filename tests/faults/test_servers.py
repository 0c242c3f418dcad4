"""What a client may do to each of proctor's servers, and that its neighbour sees nothing of it."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from proctor.wire.http.stream import Stream
from proctor.wire.local import messages as m
from proctor.wire.local.codec import encode_frame
from proctor.wire.session import PolicySession

from .served import (
    SERVED,
    close_code,
    descriptors,
    frame,
    memory,
    post,
    raw,
    read_all,
    reset,
    serving,
    websocket,
)
from .wires import lives, open_session

MB = 1 << 20
WEBSOCKET = ("chunk-ws", "openpi", "roboarena")
LISTS = b"\xdd\x00\x0e\x00\x00" + b"\x90" * 0xE0000
"""msgpack: 917,504 empty lists."""

Server = tuple[str, str, PolicySession]


@pytest.fixture(scope="module", params=SERVED)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server: its dialect, its address, and the session of somebody who behaves."""
    with serving(request.param, tmp_path_factory.mktemp("served")) as address:
        neighbour = open_session(request.param, address)
        assert lives(neighbour, 1)
        yield request.param, address, neighbour
        neighbour.close()


@pytest.fixture
def openpi(tmp_path: Path) -> Iterator[str]:
    with serving("openpi", tmp_path) as address:
        yield address


@pytest.fixture
def episode_http(tmp_path: Path) -> Iterator[str]:
    with serving("episode-http", tmp_path) as address:
        yield address


def hello(name: str, message: bytes) -> bytes:
    """What a client of this dialect says first, `message` being its request."""
    if name == "local":
        return encode_frame(m.Hello(m.PROTOCOL, "control")) + struct.pack("<II", len(message), 0) + message
    if name == "evostudio":
        return struct.pack(">I", len(message)) + message
    return post("/episode/init", message) if name == "episode-http" else frame(message)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_clients_that_vanish_within_a_message(server: Server, share: float) -> None:
    name, address, neighbour = server
    before = descriptors()
    for leave in (reset, lambda sock: sock.close()):
        sock = websocket(address) if name in WEBSOCKET else raw(address)
        whole = hello(name, bytes(3000))
        with contextlib.suppress(OSError):
            sock.sendall(whole[: int(len(whole) * share)])
        leave(sock)
        assert lives(neighbour)
    eventually(lambda: descriptors() <= before + 5)


OVERSIZE: dict[str, bytes] = {
    "local": struct.pack("<II", 1, 300 * MB),
    "evostudio": struct.pack(">I", 300 * MB),
    "episode-http": post("/episode/init", bytes(70_000), announced=300 * MB),
    **dict.fromkeys(WEBSOCKET, frame(bytes(70_000), announced=8 * MB + 1)),
}


def test_a_message_that_announces_too_much_is_not_waited_for(server: Server) -> None:
    name, address, neighbour = server
    before = memory()
    with websocket(address) if name in WEBSOCKET else raw(address) as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(OVERSIZE[name])
        if name in WEBSOCKET:
            assert close_code(sock) == 1009
        elif name == "episode-http":
            assert read_all(sock).startswith(b"HTTP/1.1 413 ")
        else:
            assert b"at most" in read_all(sock)
    assert lives(neighbour)
    assert memory() - before < 16 * MB


BOMBS: dict[str, tuple[bytes, ...]] = {
    "local": (
        b"\x93\xa4load\x01\x81\xa1k" + b"\x91" * 100_000 + b"\x90",
        b"\x93\xa4load\x01\x81\xa1k\xdd\xff\xff\xff\xff",
        b"\x93\xa4load\x01\x81\xa1k" + LISTS,
    ),
    "evostudio": (
        b'{"version":1,"operation":"act","payload":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"version":[' + b"[]," * 330_000 + b"[]]}",
        b'{"version":1,"operation":"reset","payload":{"context":{"x":[' + b"[]," * 300_000 + b"[]]}}}",
    ),
    "episode-http": (
        b"[" * 60_000,
        b'{"task":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b"[" + b"[]," * 20_000,
    ),
    **dict.fromkeys(
        WEBSOCKET,
        (
            b"\x81\xa1x" + b"\x91" * 200_000 + b"\x90",
            b"\x81\xa1x\xdd\xff\xff\xff\xff",
            b"\x81\xa1x" + LISTS,
        ),
    ),
}


REFUSALS = {"local": b"closing", "evostudio": b'"ok":false', "episode-http": b"HTTP/1.1 400 "}


@pytest.mark.parametrize("bomb", range(3), ids=["nested deeply", "announced", "of empty lists"])
def test_a_bomb_is_refused_and_takes_no_memory(server: Server, bomb: int) -> None:
    name, address, neighbour = server
    before = memory()
    with websocket(address) if name in WEBSOCKET else raw(address) as sock:
        sock.sendall(hello(name, BOMBS[name][bomb]))
        if name in WEBSOCKET:
            assert close_code(sock) == 1011
        else:
            sock.shutdown(socket.SHUT_WR)
            assert REFUSALS[name] in read_all(sock)
    assert lives(neighbour)
    assert memory() - before < 20 * MB


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip"])
def test_compressed_bodies_are_not_read(episode_http: str, encoding: str) -> None:
    with raw(episode_http) as sock:
        sock.sendall(post("/episode/init", b"\x1f\x8b" + bytes(100), f"Content-Encoding: {encoding}"))
        assert read_all(sock).startswith(b"HTTP/1.1 415 ")
    assert lives(open_session("episode-http", episode_http))


def test_compression_is_not_agreed_to(openpi: str) -> None:
    offer = b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"
    with websocket(openpi, offer) as sock:  # which looks for an agreement
        sock.sendall(b"\xc2" + frame(b"compressed")[1:])
        assert close_code(sock) == 1002


def test_a_body_without_end_is_given_up_after_64_kb_over_the_limit(
    episode_http: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    received, before = [0], memory()
    receive = Stream.receive

    def counting(stream: Stream, deadline: float) -> bytes:
        data = receive(stream, deadline)
        received[0] += len(data)
        return data

    monkeypatch.setattr(Stream, "receive", counting)
    head = b"POST /episode/init HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + bytes(65536) + b"\r\n"
    with raw(episode_http) as sock:
        sock.sendall(head)
        with contextlib.suppress(ConnectionError):
            for _ in range(300 * MB // 65536):
                sock.sendall(chunk)
    eventually(lambda: received[0] > 65536)
    assert received[0] <= (64 << 10) + (64 << 10) + 4096  # the limit of this message, and as much again
    assert memory() - before < 16 * MB


IMAGES = {
    "png": b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIB4x", 13, b"IHDR", 65_500, 65_500, 8),
    "jpeg": b"\xff\xd8\xff\xc2" + struct.pack(">HBHHB", 17, 8, 65_500, 65_500, 3) + bytes(9),
    "cut": b"\x89PNG\r\n\x1a\n\x00",
    "none": b"not an image",
}


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_is_refused_by_its_header(episode_http: str, image: str) -> None:
    with open_raw_episode(episode_http) as (sock, episode_id):
        observation = {"image": IMAGES[image], "state": [0.0] * 8, "instruction": "go"}
        body = msgspec.json.encode({"step": 0, "obs": observation})
        before, began = memory(), time.perf_counter()
        sock.sendall(post(f"/episode/{episode_id}/step", body))
        answer = sock.recv(4096)
        assert time.perf_counter() - began < 0.25  # 5 ms of it decode; the rest is a busy machine's
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"'image' (images.camera)" in answer
        assert memory() - before < 10 * MB
    assert lives(open_session("episode-http", episode_http))


@contextlib.contextmanager
def open_raw_episode(address: str) -> Iterator[tuple[socket.socket, str]]:
    init = {"benchmark": "b", "task": "t", "seed": 1, "max_steps": 9, "embodiment": "e", "instruction": "go"}
    with raw(address) as sock:
        sock.sendall(post("/episode/init", msgspec.json.encode(init)))
        answer = sock.recv(4096)
        yield sock, msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])["episode_id"]


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)
