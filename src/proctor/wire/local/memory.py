"""Shared memory without a name: sealed against resizing, passed by descriptor, gone with its last holder.

The seals are what makes reading safe: without them a client could truncate the memory while the server reads
it, which the kernel answers with SIGBUS.
"""

from __future__ import annotations

import array
import mmap
import os
import socket
import sys
from typing import Final

from proctor.errors import ProtocolError
from proctor.limits import MAX_SHARED_BYTES

AVAILABLE: Final = sys.platform == "linux" and hasattr(os, "memfd_create")
"""Whether this host has sealed memory. Where it has not, arrays travel inline and the session says so."""

if sys.platform == "linux":
    import fcntl

    _SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL

    def create_memory(size: int) -> tuple[int, mmap.mmap]:
        """New sealed memory of `size` bytes: its descriptor (the caller closes it) and a writable map."""
        fd = os.memfd_create("proctor-arrays", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, size)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
            return fd, mmap.mmap(fd, size)
        except BaseException:
            os.close(fd)
            raise

    def map_memory(fd: int, size: int) -> mmap.mmap:
        """Another process's memory, readable. Raises `ProtocolError` unless it is sealed and of this size."""
        if not 0 < size <= MAX_SHARED_BYTES:
            raise ProtocolError(f"shared memory of {size} bytes; valid: 1 to {MAX_SHARED_BYTES}")
        try:
            seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
        except OSError:
            raise ProtocolError("the descriptor is not memory that can be sealed") from None
        if seals & _SEALS != _SEALS:
            raise ProtocolError("shared memory must be sealed against shrinking, growing and unsealing")
        actual = os.fstat(fd).st_size
        if actual != size:
            raise ProtocolError(f"shared memory holds {actual} bytes, {size} were announced")
        return mmap.mmap(fd, size, prot=mmap.PROT_READ)


def send_with_descriptor(sock: socket.socket, data: bytes, fd: int) -> int:
    """Send `data` with a descriptor attached to its first byte; returns how much of it was sent."""
    return sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])


_ANCILLARY: Final = socket.CMSG_SPACE(array.array("i").itemsize)
_CLOSE_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


def receive_with_descriptors(sock: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Receive up to `size` bytes and the descriptors that came with them, which the caller closes."""
    data, ancillary, _, _ = sock.recvmsg(size, _ANCILLARY, _CLOSE_ON_EXEC)
    if not ancillary:
        return data, []
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    return data, list(descriptors)
