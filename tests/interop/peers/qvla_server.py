"""A `qvla.policy_server/1` server, written from the protocol on openpi's message packing.

python qvla_server.py PILOT    steer (toy) or hover (Meta-World); prints its port
"""

from __future__ import annotations

import sys

import numpy as np
import pilot
from openpi_client import msgpack_numpy
from websockets.sync.server import serve

STEER = {
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


ROWS = 50
HOVER = STEER | {
    "action_dim": 4,
    "image_geometry": {"base_0_rgb": "raw"},
    "state_order": ["x", "y", "z", "gripper"],
    "action_units": "metaworld.delta-eef-v1",
    "action_fps": 80,
    "action_dim_out": 4,
}


def steer(observation, noise):
    assert observation["left_wrist_0_rgb"].shape == (64, 64, 3)
    actions = pilot.steer(observation["base_0_rgb"], observation["state"])
    return actions + np.float32(0.1) * noise


def hover(observation, noise):
    assert observation["base_0_rgb"].shape == (480, 480, 3)
    return pilot.hover(observation["state"], ROWS)


HANDSHAKE, act = {"steer": (STEER, steer), "hover": (HOVER, hover)}[sys.argv[1]]


def handler(websocket):
    websocket.send(msgpack_numpy.packb(HANDSHAKE))
    for message in websocket:
        observation = msgpack_numpy.unpackb(message)
        noise = observation.pop("__noise__")
        websocket.send(msgpack_numpy.packb({"actions": act(observation, noise)}))


with serve(handler, "127.0.0.1", 0) as server:
    print(server.socket.getsockname()[1], flush=True)
    server.serve_forever()
