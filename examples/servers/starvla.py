"""StarVLA's WebSocket protocol. Needs numpy, msgspec and websockets.

Start it, then check it:

    python starvla.py --port 10093
    proctor bench check-server --policy 127.0.0.1:10093 --benchmark aloha-sim-v1
"""

import argparse
from typing import Any

import msgpack_numpy
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

METADATA: dict[str, Any] = {
    "env": "aloha",
    "ckpt_path": "none",
    "action_chunk_size": 10,
    "available_unnorm_keys": ["aloha"],
    "default_unnorm_key": "aloha",
}


def act(examples: list[dict[str, Any]]) -> np.ndarray:
    """Your model: (examples, rows, dimension), from `image` (list of frames), `lang` and `state` of each."""
    return np.stack([np.tile(example["state"], (METADATA["action_chunk_size"], 1)) for example in examples])


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to one request, whatever it is."""
    kind = request.get("type", "infer")
    known = {"type": kind, "request_id": request.get("request_id", "default")}
    if kind == "ping":
        return {**known, "status": "ok", "ok": True}
    if kind not in ("infer", "predict_action"):
        return {
            **known,
            "type": "unknown",
            "status": "error",
            "ok": False,
            "error": {"message": "unsupported"},
        }
    try:
        actions = act(request.get("payload", request)["examples"])
    except Exception as error:
        return {**known, "status": "error", "ok": False, "error": {"message": str(error)}}
    return {**known, "type": "inference_result", "status": "ok", "ok": True, "data": {"actions": actions}}


def handle(connection: ServerConnection) -> None:
    """There is no reset: keep nothing between two requests."""
    try:
        connection.send(msgpack_numpy.packb(METADATA))
        for message in connection:
            connection.send(msgpack_numpy.packb(answer(msgpack_numpy.unpackb(message))))
    except ConnectionClosed:
        pass  # the evaluator left without a word


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=10093)
    port = parser.parse_args().port
    with serve(handle, "127.0.0.1", port, compression=None, max_size=None) as server:
        server.serve_forever()
