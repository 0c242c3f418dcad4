"""Servers that behave as a test wants: over the `websockets` library, or over a bare socket."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from websockets.sync.server import ServerConnection, serve

from proctor.wire.endpoint import Endpoint, parse_endpoint

logging.getLogger("websockets").setLevel(logging.CRITICAL)

Handler = Callable[[ServerConnection], None]


@contextmanager
def scripted(handler: Handler, *, scheme: str = "ws", **options: Any) -> Iterator[Endpoint]:
    """A WebSocket server that runs `handler` for every connection."""
    with serve(handler, "127.0.0.1", 0, **{"compression": None, "close_timeout": 0.2, **options}) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield parse_endpoint(f"{scheme}://127.0.0.1:{server.socket.getsockname()[1]}")
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def bare(action: Callable[[socket.socket], None]) -> Iterator[Endpoint]:
    """A TCP server that does `action` with the first connection, and closes it."""

    def run() -> None:
        with suppress(OSError):
            sock, _ = listener.accept()
            with sock:
                action(sock)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield parse_endpoint(f"ws://127.0.0.1:{listener.getsockname()[1]}")
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def read_request(sock: socket.socket) -> bytes:
    """The header of an HTTP request."""
    data = b""
    while b"\r\n\r\n" not in data and (part := sock.recv(4096)):
        data += part
    return data


def unused_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def server_tls(certificate: str, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
