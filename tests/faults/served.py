"""proctor's own servers, each with a policy that gives the state back, and clients that speak only bytes."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from proctor.policy import ActionChunk, Observation, Policy, PolicyCapabilities, SessionContext
from proctor.wire.dialects import find_shell
from proctor.wire.endpoint import parse_endpoint
from proctor.wire.exposure import Guard
from proctor.wire.local import PolicyServer
from proctor.wire.opening import Wire, prepare
from proctor.wire.serving import Address, ServedPolicy

from .wires import MAPPINGS, SPEC

SERVED = ("local", "evostudio", "episode-http", "chunk-ws", "openpi", "roboarena")
CONTEXT = SessionContext("faults", "", SPEC, {"control_hz": 10.0})

HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
)


class Echo(Policy):
    def load(self, context: SessionContext) -> PolicyCapabilities:
        return PolicyCapabilities((SPEC.name,), ("state.joints",))

    def act(self, observation: Observation) -> ActionChunk:
        state = observation.features["state.joints"]
        assert isinstance(state, np.ndarray)
        return ActionChunk(state[None])


@contextmanager
def serving(name: str, directory: Path) -> Iterator[str]:
    """The address of a server of `name` that has loaded."""
    path = directory / f"{name}.sock"
    if name == "local":
        with PolicyServer(Echo(), path):
            prepare(f"unix:{path}", CONTEXT, timeout_s=10)
            yield f"unix:{path}"
        return
    loads = name == "evostudio"
    served = ServedPolicy(Echo()) if loads else ServedPolicy(Echo(), context=CONTEXT, mapping=MAPPINGS[name])
    if not loads:
        served.load()
    server = find_shell(name).start(served, Address(path=str(path)) if loads else Address(), Guard())
    try:
        if loads:
            prepare(server.address, CONTEXT, Wire(name), timeout_s=10)
        yield server.address
    finally:
        server.close()
        served.close()


def raw(address: str) -> socket.socket:
    """A connection on which nothing was said."""
    endpoint = parse_endpoint(address)
    if endpoint.scheme == "unix":
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(10)
        sock.connect(endpoint.path)
        return sock
    return socket.create_connection((endpoint.host, endpoint.port), timeout=10)


def websocket(address: str, *headers: bytes) -> socket.socket:
    """A connection that has shaken hands, and read nothing since."""
    sock = raw(address)
    sock.sendall(HANDSHAKE + b"".join(header + b"\r\n" for header in headers) + b"\r\n")
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += exactly(sock, 1)
    assert head.startswith(b"HTTP/1.1 101 "), head
    assert b"extensions" not in head.lower()
    return sock


def frame(message: bytes, announced: int | None = None) -> bytes:
    """A binary frame, masked with zeros."""
    size = len(message) if announced is None else announced
    return b"\x82\xff" + struct.pack(">Q", size) + bytes(4) + message


def post(path: str, body: bytes, *headers: str, announced: int | None = None) -> bytes:
    size = len(body) if announced is None else announced
    lines = (f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {size}", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def reset(sock: socket.socket) -> None:
    """Leave as a machine does whose cable was pulled and put back."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def read_all(sock: socket.socket) -> bytes:
    """What comes until the server closes."""
    received = bytearray()
    try:
        while data := sock.recv(65536):
            received += data
    except ConnectionResetError:
        pass
    return bytes(received)


def close_code(sock: socket.socket) -> int:
    """The code of the close frame with which a WebSocket server ends, whatever it says before."""
    while True:
        code, size = exactly(sock, 2)
        if size == 126:
            size = int.from_bytes(exactly(sock, 2), "big")
        elif size == 127:
            size = int.from_bytes(exactly(sock, 8), "big")
        content = exactly(sock, size)
        if code == 0x88:
            return int.from_bytes(content[:2], "big")


def exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += (more := sock.recv(size - len(data)))
        assert more, f"the server closed the connection after {data!r}"
    return data


def memory() -> int:
    """Resident bytes of this process, in which the servers run."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
