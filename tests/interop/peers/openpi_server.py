"""A policy server in the manner of openpi's own, on its message packing and `websockets`.

python openpi_server.py steer|reach|raise      prints its port
"""

from __future__ import annotations

import sys
import traceback

import pilot
from openpi_client import msgpack_numpy
from websockets.sync.server import serve


def infer(kind, observation):
    if kind == "raise":
        raise ValueError("this model knows no such scene")
    if kind == "reach":
        assert observation["observation/image"].shape == (480, 480, 3)
        return pilot.reach(observation["observation/privileged"])
    return pilot.steer(observation["observation/image"], observation["observation/state"])


def handler(websocket):
    packer = msgpack_numpy.Packer()
    websocket.send(packer.pack({"model": "pilot"}))
    for message in websocket:
        try:
            actions = infer(sys.argv[1], msgpack_numpy.unpackb(message))
        except Exception:
            websocket.send(traceback.format_exc())
            websocket.close(1011, "Internal server error. Traceback included in previous frame.")
            raise
        websocket.send(packer.pack({"actions": actions, "server_timing": {"infer_ms": 0.1}}))


with serve(handler, "127.0.0.1", 0, compression=None, max_size=None) as server:
    print(server.socket.getsockname()[1], flush=True)
    server.serve_forever()
