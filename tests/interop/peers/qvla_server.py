"""A `qvla.policy_server/1` server, written from the protocol on openpi's message packing.

python qvla_server.py      prints its port
"""

from __future__ import annotations

import numpy as np
import pilot
from openpi_client import msgpack_numpy
from websockets.sync.server import serve

HANDSHAKE = {
    "protocol": "qvla.policy_server/1",
    "supports_client_noise": True,
    "action_horizon": pilot.ROWS,
    "action_dim": 2,
    "image_geometry": {"base_0_rgb": "raw", "left_wrist_0_rgb": "raw"},
    "state_order": ["x", "y", "vx", "vy"],
    "action_units": "field_s",
    "action_fps": 10,
    "action_dim_out": 2,
}


def act(observation, noise):
    assert observation["left_wrist_0_rgb"].shape == (64, 64, 3)
    actions = pilot.steer(observation["base_0_rgb"], observation["state"])
    return actions + np.float32(0.1) * noise


def handler(websocket):
    websocket.send(msgpack_numpy.packb(HANDSHAKE))
    for message in websocket:
        observation = msgpack_numpy.unpackb(message)
        noise = observation.pop("__noise__")
        websocket.send(msgpack_numpy.packb({"actions": act(observation, noise)}))


with serve(handler, "127.0.0.1", 0) as server:
    print(server.socket.getsockname()[1], flush=True)
    server.serve_forever()
