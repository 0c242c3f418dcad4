"""`qvla.policy_server/1`: chunks over WebSocket. Needs numpy, msgspec and websockets.

Start it, then check it:

    python chunk_ws.py --port 8000
    proctor bench check-server --policy 127.0.0.1:8000 --timeout 60
"""

import argparse
from typing import Any

import msgpack_numpy
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

HANDSHAKE = {
    "protocol": "qvla.policy_server/1",
    "supports_client_noise": True,
    "action_horizon": 8,  # these two are the noise's shape, whatever the reply's is
    "action_dim": 32,
    "image_geometry": {"base_0_rgb": "raw", "left_wrist_0_rgb": "raw"},
    "state_order": [*(f"q{joint}" for joint in range(7)), "gripper"],
    "action_units": "rad_s",
    "action_fps": 15,
    "action_dim_out": 8,
}


def act(observation: dict[str, Any], noise: np.ndarray) -> np.ndarray:
    """Your model: rows of 7 joint velocities (rad/s) and the gripper's closedness, from this noise alone."""
    actions = np.zeros((8, 8), np.float32)
    actions[:, :7] = 0.01 * noise[:, :7]
    return actions


def handle(connection: ServerConnection) -> None:
    """One connection is one episode."""
    try:
        connection.send(msgpack_numpy.packb(HANDSHAKE))
        for message in connection:
            observation = msgpack_numpy.unpackb(message)
            noise = observation.pop("__noise__")
            connection.send(msgpack_numpy.packb({"actions": act(observation, noise)}))
    except ConnectionClosed:
        pass  # the evaluator left without a word


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    # Two raw frames are more than the 1 MiB that websockets takes by default.
    with serve(handle, "127.0.0.1", port, compression=None, max_size=None) as server:
        server.serve_forever()
