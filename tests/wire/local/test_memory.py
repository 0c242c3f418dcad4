"""Shared memory is read only if nobody can resize it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from proctor.errors import ProtocolError
from proctor.limits import MAX_SHARED_BYTES
from proctor.wire.local import memory

pytestmark = pytest.mark.skipif(not memory.AVAILABLE, reason="this host has no sealed shared memory")


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def test_both_ends_see_the_same_bytes() -> None:
    fd, written = memory.create_memory(4096)
    read = memory.map_memory(fd, 4096)
    os.close(fd)
    written[100:103] = b"abc"
    assert read[100:103] == b"abc"


def test_the_reader_cannot_write() -> None:
    fd, _ = memory.create_memory(4096)
    read = memory.map_memory(fd, 4096)
    os.close(fd)
    with pytest.raises(TypeError, match="readonly"):
        read[0:1] = b"x"


@pytest.mark.parametrize("size", [0, 8192])
def test_the_memory_cannot_be_resized(size: int) -> None:
    fd, _ = memory.create_memory(4096)
    with pytest.raises(PermissionError):
        os.ftruncate(fd, size)
    os.close(fd)


def test_nothing_has_a_name_or_stays_behind() -> None:
    before = descriptors()
    fd, mapped = memory.create_memory(4096)
    os.close(fd)
    mapped.close()
    assert descriptors() == before


def test_memory_without_seals_is_refused() -> None:
    fd = os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 4096)
    with pytest.raises(ProtocolError, match="must be sealed"):
        memory.map_memory(fd, 4096)
    os.close(fd)


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(4096))
    fd = os.open(tmp_path / "file", os.O_RDWR)
    with pytest.raises(ProtocolError, match="not memory that can be sealed"):
        memory.map_memory(fd, 4096)
    os.close(fd)


@pytest.mark.parametrize("size", [1, 4095, 8192])
def test_another_size_than_announced_is_refused(size: int) -> None:
    fd, _ = memory.create_memory(4096)
    with pytest.raises(ProtocolError, match=f"holds 4096 bytes, {size} were announced"):
        memory.map_memory(fd, size)
    os.close(fd)


@pytest.mark.parametrize("size", [0, MAX_SHARED_BYTES + 1])
def test_a_size_out_of_bounds_is_refused(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"shared memory of {size} bytes"):
        memory.map_memory(0, size)


def test_a_descriptor_travels_with_the_bytes() -> None:
    here, there = socket.socketpair()
    with here, there:
        fd, written = memory.create_memory(4096)
        assert memory.send_with_descriptor(here, b"take this", fd) == 9
        os.close(fd)
        data, received = memory.receive_with_descriptors(there, 100)
        assert data == b"take this"
        written[0:2] = b"ok"
        assert memory.map_memory(received[0], 4096)[0:2] == b"ok"
        assert not os.get_inheritable(received[0])
        os.close(received[0])
