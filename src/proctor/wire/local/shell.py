"""The local dialect's server as `proctor serve` starts it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from proctor.errors import UsageError
from proctor.wire.exposure import Guard
from proctor.wire.local.address import default_socket_path
from proctor.wire.local.server import PolicyServer
from proctor.wire.presets import CANONICAL
from proctor.wire.serving import Address, ServedPolicy


class LocalShell:
    """Implements `proctor.wire.serving.ServerShell`."""

    dialect = "local"
    carries_token = False
    loads = True
    default_mapping: str | None = CANONICAL

    def start(self, served: ServedPolicy, address: Address, guard: Guard) -> RunningLocalServer:
        """Listen at `address.path`, else at the default socket path."""
        if guard != Guard():
            raise UsageError("local is served at a socket file, whose mode 0600 is what protects it")
        path = Path(address.path) if address.path else default_socket_path()
        server = PolicyServer(served.policy, path, accept_batching=served.accept_batching)
        server.listen()
        return RunningLocalServer(server, served)


class RunningLocalServer:
    """Serves on a thread of its own; here the server itself runs the policy, and unloads it."""

    def __init__(self, server: PolicyServer, served: ServedPolicy) -> None:
        self.address = f"unix:{server.socket_path.absolute()}"
        self._server, self._served = server, served
        self._thread = threading.Thread(target=self._serve, name="policy-io", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Finish the current call, unload the policy, leave."""
        self._server.close()
        self._thread.join()

    def _serve(self) -> None:
        try:
            self._server.serve()
        except BaseException as error:  # the policy may end its replica with anything
            self._served.end(error)
        else:
            self._served.end(None)


SERVER: Final = LocalShell()
