"""Stands between a client and a server, and does to their connections what networks do."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_LOOK_S = 0.02


class Relay:
    """Passes bytes on, until it is told to do something else; what it is told holds for all its connections.

    `connections` counts those that were accepted, `fired` how often a fault was done.
    """

    def __init__(self, listener: socket.socket, family: int, target: Any) -> None:
        self.cut_after: int | None = None
        """Bytes of the server after which a connection is reset."""
        self.silent = False
        """Take what comes, and pass nothing on."""
        self.refusing = False
        """Close what is accepted at once."""
        self.delay_s = 0.0
        """Pass the server's bytes on so many seconds later."""
        self.connections = self.fired = 0
        self._listener, self._family, self._target = listener, family, target
        self._stopping = False
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def heal(self) -> None:
        """Pass everything on again."""
        self.cut_after, self.silent, self.refusing, self.delay_s = None, False, False, 0.0

    def stop(self) -> None:
        self._stopping = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.refusing:
                self.fired += 1
                client.close()
                continue
            self._threads.append(threading.Thread(target=self._pass, args=(client,)))
            self._threads[-1].start()

    def _pass(self, client: socket.socket) -> None:
        server = socket.socket(self._family)
        with client, server, suppress(OSError):
            server.connect(self._target)
            while not self._stopping:
                readable, _, _ = select.select([client, server], [], [], _LOOK_S)
                for source in readable:
                    data = source.recv(65536)
                    if not data:
                        return
                    if self.silent:
                        self.fired += 1
                    elif source is client:
                        server.sendall(data)
                    else:
                        self._answer(client, data)

    def _answer(self, client: socket.socket, data: bytes) -> None:
        if self.delay_s:
            self.fired += 1
            time.sleep(self.delay_s)
        if self.cut_after is not None:
            self.fired += 1
            client.sendall(data[: self.cut_after])
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise OSError("reset")
        client.sendall(data)


@contextmanager
def relayed(address: str, directory: Path) -> Iterator[tuple[Relay, str]]:
    """A relay in front of the server at `address`, and the address to use in its place."""
    if address.startswith("unix:"):
        path = directory / "relay.sock"
        listener, family, target = (
            socket.socket(socket.AF_UNIX),
            socket.AF_UNIX,
            address.removeprefix("unix:"),
        )
        listener.bind(str(path))
        listener.listen()
        place = f"unix:{path}"
    else:
        scheme, _, rest = address.partition("://")
        host, _, port = rest.partition(":")
        listener, family, target = socket.create_server(("127.0.0.1", 0)), socket.AF_INET, (host, int(port))
        place = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
    relay = Relay(listener, family, target)
    try:
        yield relay, place
    finally:
        relay.stop()
