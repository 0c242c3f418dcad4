"""A peer that sends bytes as a test wants them, whether they are HTTP or not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proctor.wire.endpoint import Endpoint, parse_endpoint

Script = Callable[[socket.socket], None]
Play = Callable[..., Endpoint]


@pytest.fixture
def play() -> Iterator[Play]:
    """Serves one script for each connection, in order; the endpoint to connect to."""
    listeners: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def serve(listener: socket.socket, scripts: tuple[Script, ...]) -> None:
        for script in scripts:
            sock, _ = listener.accept()
            with sock:
                script(sock)
        listener.close()

    def play(*scripts: Script) -> Endpoint:
        listener = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=serve, args=(listener, scripts))
        listeners.append(listener)
        threads.append(thread)
        thread.start()
        return parse_endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}")

    yield play
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive(), "a script expects more connections than came"
    for listener in listeners:
        listener.close()


@pytest.fixture
def certificate() -> tuple[Path, Path]:
    """Files of a certificate for localhost, which signs itself, and of its key: good for tests alone."""
    data = Path(__file__).parent / "data"
    return data / "certificate.pem", data / "key.pem"
