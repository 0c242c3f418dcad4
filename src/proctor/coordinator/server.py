"""The coordinator process: `python -m proctor.coordinator`.

Reads one JSON line, ServerConfig, from its standard input, takes the run over, serves it, and prints one JSON
line, Ready, when it does. It stops in order when its standard input ends (whoever started it is gone), on
SIGTERM, or when another coordinator takes over; never because the run is finished, since results are still
to be read. Log lines go to standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import uvicorn

from proctor.coordinator.api import make_app
from proctor.coordinator.configuration import (
    DATABASE_FILE,
    EXIT_FAULT,
    EXIT_USAGE,
    JOURNAL_FILE,
    Ready,
    ServerConfig,
)
from proctor.coordinator.store import RunStore, open_store
from proctor.errors import InfrastructureFault, StorageFault, SupersededError, UsageError
from proctor.limits import EXPIRY_CHECKS, MAX_API_CONNECTIONS

log = logging.getLogger(__name__)

_SHUTDOWN_S: Final = 5


def main() -> int:
    """Serve the run that standard input names; the exit status."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    return serve(sys.stdin.buffer)


def serve(source: BinaryIO) -> int:
    """Serve one run until told to stop; the exit status."""
    try:
        config = msgspec.json.decode(source.readline(), type=ServerConfig)
        _open_and_run(config, source)
    except (UsageError, msgspec.DecodeError) as error:
        log.error("%s", error)
        return EXIT_USAGE
    except (InfrastructureFault, OSError) as error:
        log.error("%s", error)
        return EXIT_FAULT
    return 0


def _open_and_run(config: ServerConfig, source: BinaryIO) -> None:
    directory = Path(config.directory)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(_listen(config.port))
        store = open_store(
            f"sqlite:///{directory / DATABASE_FILE}",
            config.start,
            journal=directory / JOURNAL_FILE,
            lease_s=config.lease_s,
        )
        stack.callback(store.close)
        asyncio.run(_run(store, config, listener, source))


def _listen(port: int) -> socket.socket:
    """Bound before the run is taken over: a port that is in use must not cost the owner its epoch."""
    # Without the protocol spelt out asyncio leaves Nagle on, and every answer waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise InfrastructureFault(f"port {port} on 127.0.0.1: {error.strerror}") from error
    return listener


async def _run(store: RunStore, config: ServerConfig, listener: socket.socket, source: BinaryIO) -> None:
    server = _Server(make_app(store, config.token), listener, store.epoch)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.stop)
    loop.add_signal_handler(signal.SIGINT, lambda: None)  # the terminal's Ctrl-C is the keeper's to act on
    threading.Thread(target=_watch, args=(source, loop, server), daemon=True).start()
    expiry = asyncio.create_task(_expire_leases(store, server, config.lease_s / EXPIRY_CHECKS))
    try:
        await server.serve(sockets=[listener])
    finally:
        expiry.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await expiry
    log.info("stopped")


class _Server(uvicorn.Server):
    """uvicorn without its signal handling, with a word when it is ready."""

    def __init__(self, app: object, listener: socket.socket, epoch: int) -> None:
        self.ready = Ready(url=f"http://127.0.0.1:{listener.getsockname()[1]}", epoch=epoch)
        super().__init__(
            uvicorn.Config(
                app,  # type: ignore[arg-type]
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                limit_concurrency=MAX_API_CONNECTIONS,
                timeout_graceful_shutdown=_SHUTDOWN_S,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to `_run`: uvicorn would raise them again on its way out."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving, then say so."""
        await super().startup(sockets)
        if self.started:
            print(msgspec.json.encode(self.ready).decode(), flush=True)

    def stop(self) -> None:
        """Finish what is in flight, then leave."""
        self.should_exit = True


def _watch(source: BinaryIO, loop: asyncio.AbstractEventLoop, server: _Server) -> None:
    """Stop when the keeper's end of the pipe is closed, whatever it writes before.

    Reads the descriptor: a daemon thread that held the buffer's lock would abort the interpreter's end.
    """
    while os.read(source.fileno(), 1 << 16):
        pass
    with contextlib.suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(server.stop)


async def _expire_leases(store: RunStore, server: _Server, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        try:
            ended = await asyncio.wrap_future(store.expire())
        except StorageFault as fault:
            log.error("%s", fault)
        except SupersededError as error:
            log.error("%s", error)
            server.stop()
        else:
            if ended:
                log.warning("%d lease(s) expired", ended)
