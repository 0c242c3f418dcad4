"""vla-eval's protocol: numbered frames, one action per observation. Needs numpy, msgspec and websockets.

Start it, then check it:

    python vla_eval.py --port 8000
    proctor bench check-server --policy vla-eval+ws://127.0.0.1:8000 \\
        --benchmark aloha-sim-v1 --mapping vla_eval.toml

The mapping says under which keys your model looks.
"""

import argparse
import time
from typing import Any

import msgspec
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

HELLO = {"harness_version": "0.8.0", "protocol_version": 1, "model_server": "HoldStill", "capabilities": {}}


def act(observation: dict[str, Any], memory: dict[str, Any]) -> np.ndarray:
    """Your model: the next action. Keep a chunk in `memory` and answer its rows one by one."""
    return np.asarray(observation["states"])


def answer(kind: str, payload: dict[str, Any], memory: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Kind and payload of the reply; None where the protocol has none."""
    if kind == "hello":
        return "hello", HELLO
    if kind in ("episode_start", "episode_end"):
        memory.clear()
        return None  # neither is acknowledged
    try:
        return "action", {"actions": act(_with_arrays(payload), memory)}
    except Exception as error:
        return "error", {"error": f"observation_failed: {error}"}


def handle(connection: ServerConnection) -> None:
    """One connection has one episode at a time."""
    memory: dict[str, Any] = {}
    try:
        while True:
            asked = msgspec.msgpack.decode(connection.recv(decode=False))
            said = answer(asked["type"], asked["payload"], memory)
            if said is not None:
                frame = {"type": said[0], "payload": said[1], "seq": asked["seq"], "timestamp": time.time()}
                connection.send(msgspec.msgpack.encode(frame, enc_hook=_map_of))
    except ConnectionClosed:
        pass  # the evaluator left without a word


def _map_of(array: Any) -> Any:
    return {"__ndarray__": True, "data": array.tobytes(), "dtype": array.dtype.str, "shape": array.shape}


def _with_arrays(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "__ndarray__" in value:
        return np.frombuffer(value["data"], value["dtype"]).reshape(value["shape"])
    return {key: _with_arrays(item) for key, item in value.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    with serve(handle, "127.0.0.1", port, compression=None, max_size=None) as server:
        server.serve_forever()
