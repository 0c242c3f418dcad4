"""The EvoStudio SDK's socket protocol, with the standard library and numpy alone.

Start it, then check it:

    python evostudio.py --socket /tmp/evo.sock
    proctor bench check-server --policy unix:/tmp/evo.sock --benchmark aloha-sim-v1
"""

import argparse
import base64
import json
import os
import socketserver
from pathlib import Path
from typing import Any

import numpy as np

state = {"state": "created"}
memories: dict[str, dict[str, Any]] = {}
CAPABILITIES = {
    "supported_benchmarks": ["aloha"],
    "required_features": ["state.joints"],
    "supported_action_chunk_sizes": [10],
}


def act(features: dict[str, Any], memory: dict[str, Any]) -> np.ndarray:
    """Your model: a chunk of actions. What it remembers of this episode belongs into `memory`."""
    return np.tile(array_of(features["state.joints"]), (10, 1))


def answer(operation: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The result of one request."""
    if operation == "act":
        seen = payload["observation"]
        return {"action_chunk": {"actions": text_of(act(seen["features"], memories[seen["episode_id"]]))}}
    if operation == "reset":
        memories[payload["context"]["episode_id"]] = {}
    elif operation == "end_episode":
        del memories[payload["episode_id"]]
    elif operation == "load":
        state["state"] = "ready"
        return {**state, "capabilities": CAPABILITIES}
    elif operation not in ("health", "unload"):
        raise ValueError(f"unknown operation {operation!r}")
    return state


def array_of(value: dict[str, Any]) -> np.ndarray:
    """An array, as the protocol writes it."""
    return np.frombuffer(base64.b64decode(value["data"]), value["dtype"]).reshape(value["shape"])


def text_of(array: np.ndarray) -> dict[str, Any]:
    """The inverse of `array_of`."""
    data = base64.b64encode(array.tobytes()).decode()
    return {"__evo_type__": "ndarray", "dtype": array.dtype.str, "shape": array.shape, "data": data}


class Handler(socketserver.StreamRequestHandler):
    """Four bytes of length, then JSON, both ways."""

    def handle(self) -> None:
        while header := self.rfile.read(4):
            asked = json.loads(self.rfile.read(int.from_bytes(header, "big")))
            reply = {"version": 1, "request_id": asked["request_id"], "ok": True}
            try:
                reply["result"] = answer(asked["operation"], asked["payload"])
            except Exception as error:
                fault = {"operation": asked["operation"], "type": type(error).__name__, "message": str(error)}
                reply |= {"ok": False, "error": {**fault, "traceback": "", **state}}
            data = json.dumps(reply).encode()
            self.wfile.write(len(data).to_bytes(4, "big") + data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", default="/tmp/evo.sock")
    path = parser.parse_args().socket
    Path(path).unlink(missing_ok=True)
    os.umask(0o177)  # this user alone may connect
    socketserver.ThreadingUnixStreamServer(path, Handler).serve_forever()
