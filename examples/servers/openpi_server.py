"""openpi's WebSocket protocol, answering as its server does. Needs numpy, msgspec and websockets.

Start it, then check it:

    python openpi_server.py --port 8000
    proctor bench check-server --policy 127.0.0.1:8000 --benchmark aloha-sim-v1 --mapping openpi-aloha
"""

import argparse
import http
import traceback
from typing import Any

import msgpack_numpy
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve


def act(observation: dict[str, Any]) -> np.ndarray:
    """Your model: a chunk of actions. Keys are those of your own inputs; the mapping names them."""
    return np.tile(observation["state"], (10, 1))


def handle(connection: ServerConnection) -> None:
    """One connection is one episode: nothing else tells one from the next."""
    try:
        connection.send(msgpack_numpy.packb({}))  # metadata: anything, or nothing
        for message in connection:
            try:
                reply = {"actions": act(msgpack_numpy.unpackb(message))}
            except Exception:
                connection.send(traceback.format_exc())
                connection.close(1011, "internal error")
                raise
            connection.send(msgpack_numpy.packb(reply))
    except ConnectionClosed:
        pass  # the evaluator left without a word


def health(connection: ServerConnection, request: Request) -> Response | None:
    """Answer `GET /healthz` on the same port."""
    return connection.respond(http.HTTPStatus.OK, "OK\n") if request.path == "/healthz" else None


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    options: dict[str, Any] = {"compression": None, "max_size": None, "process_request": health}
    with serve(handle, "127.0.0.1", port, **options) as server:
        server.serve_forever()
