"""The server's end of a socket: it never blocks, and knows when nobody is there."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.errors import ProtocolError
from proctor.limits import MAX_HEADER_BYTES
from proctor.wire.local import connection as module
from proctor.wire.local import messages as m
from proctor.wire.local.codec import FrameReader, decode_to_client, encode_frame
from proctor.wire.local.connection import Connection
from proctor.wire.local.memory import send_with_descriptor

LARGE = m.Done(1), bytes(1 << 20)


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    there.settimeout(10)
    with here, there:
        yield here, there


@pytest.fixture
def peer(sockets: tuple[socket.socket, socket.socket]) -> socket.socket:
    return sockets[1]


@pytest.fixture
def connection(sockets: tuple[socket.socket, socket.socket]) -> Iterator[Connection]:
    made = Connection(sockets[0])
    yield made
    made.close("leaving", "")


def received(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := peer.recv(65536)):
        data += more
    return data


def test_reading_without_anything_there_waits_for_nothing(connection: Connection) -> None:
    connection.read()
    assert not connection.has_frame()
    assert connection.next_message() is None


def test_messages_come_one_by_one(connection: Connection, peer: socket.socket) -> None:
    peer.sendall(encode_frame(m.HealthRequest(1)) + encode_frame(m.HealthRequest(2), b"body"))
    connection.read()
    assert connection.has_frame()
    assert connection.next_message() == (m.HealthRequest(1), b"")
    assert connection.next_message() == (m.HealthRequest(2), b"body")
    assert connection.next_message() is None


def test_an_oversize_frame_is_a_frame_to_be_refused(connection: Connection, peer: socket.socket) -> None:
    peer.sendall(struct.pack("<II", MAX_HEADER_BYTES + 1, 0) + bytes(100))
    connection.read()
    with pytest.raises(ProtocolError, match="at most"):
        connection.next_message()


def test_an_end_between_frames_is_regular(connection: Connection, peer: socket.socket) -> None:
    peer.close()
    with pytest.raises(EOFError):
        connection.read()


def test_an_end_inside_a_frame_is_not(connection: Connection, peer: socket.socket) -> None:
    peer.sendall(b"123")
    peer.close()
    connection.read()
    with pytest.raises(ProtocolError, match="3 bytes into it"):
        connection.read()


def test_what_does_not_fit_waits(connection: Connection, peer: socket.socket) -> None:
    connection.send(*LARGE)
    assert connection.draining
    connection.send(m.Done(2))
    expected = encode_frame(*LARGE) + encode_frame(m.Done(2))
    data = b""
    while connection.draining:
        data += peer.recv(1 << 20)
        connection.flush()
    assert data + received(peer, len(expected) - len(data)) == expected


def test_waiting_too_long_is_noticed(
    connection: Connection, peer: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.send(m.Done(1))
    monkeypatch.setattr(module, "DRAIN_TIMEOUT_S", 0.0)
    assert not connection.overdue()
    connection.send(*LARGE)
    assert connection.overdue()


def test_sending_to_nobody_harms_nobody(connection: Connection, peer: socket.socket) -> None:
    peer.close()
    for _ in range(3):
        connection.send(m.Done(1))
    assert not connection.draining
    assert connection.has_left()


def test_who_is_there_has_not_left(connection: Connection, peer: socket.socket) -> None:
    assert not connection.has_left()
    peer.sendall(b"x")
    assert not connection.has_left()


def test_who_left_is_gone_although_requests_wait(connection: Connection, peer: socket.socket) -> None:
    peer.sendall(encode_frame(m.HealthRequest(1)))
    peer.close()
    assert connection.has_left()
    connection.read()
    assert connection.next_message() == (m.HealthRequest(1), b"")


def test_a_closed_connection_has_been_left(connection: Connection) -> None:
    connection.close("leaving", "")
    connection.close("leaving", "")
    assert connection.has_left()
    assert connection.fileno() == -1


def test_closing_says_why(connection: Connection, peer: socket.socket) -> None:
    connection.close("protocol", "nonsense")
    reader = FrameReader()
    reader.feed(received(peer, 1 << 20))
    frame = reader.next_frame()
    assert frame is not None
    assert decode_to_client(frame[0]) == m.Closing("protocol", "nonsense")


def test_nothing_is_said_in_the_middle_of_an_answer(connection: Connection, peer: socket.socket) -> None:
    connection.send(*LARGE)
    connection.close("unread", "too slow")
    assert b"too slow" not in received(peer, 2 << 20)


def test_a_descriptor_is_taken_once(connection: Connection, peer: socket.socket, tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        send_with_descriptor(peer, encode_frame(m.Memory(1)), file.fileno())
    connection.read()
    os.close(connection.take_descriptor())
    with pytest.raises(ProtocolError, match="without a descriptor"):
        connection.take_descriptor()


def test_a_descriptor_that_was_not_taken_is_closed(
    connection: Connection, peer: socket.socket, tmp_path: Path
) -> None:
    with (tmp_path / "file").open("w") as file:
        send_with_descriptor(peer, b"x", file.fileno())
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names, not files that may be gone
    connection.read()
    connection.close("leaving", "")
    assert len(os.listdir("/proc/self/fd")) < before + 1  # noqa: PTH208
