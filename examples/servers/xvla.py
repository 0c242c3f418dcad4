"""X-VLA's `POST /act`, with the standard library and numpy alone.

Start it, then check it:

    python xvla.py --port 8000
    proctor bench check-server --policy xvla+http://127.0.0.1:8000 \\
        --benchmark aloha-sim-v1 --mapping xvla-robotwin
"""

import argparse
import base64
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np


def act(images: list[np.ndarray], proprio: np.ndarray, instruction: str, domain: int) -> np.ndarray:
    """Your model: 30 rows of 20 numbers, per arm position 3, rotation 6, gripper (above 0.7 closes)."""
    actions = np.tile(proprio, (30, 1))
    actions[:, [9, 19]] = (actions[:, [9, 19]] + 1) / 2
    return actions


def array_of(text: str) -> np.ndarray:
    """An array as json_numpy writes it. What is none is refused: never open a client's text as a file."""
    fields = json.loads(text)
    data = base64.b64decode(fields["__numpy__"])
    return np.frombuffer(data, np.dtype(fields["dtype"])).reshape(fields["shape"])


class Handler(BaseHTTPRequestHandler):
    """Keeps its connection, as the protocol has nothing else to keep."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # one packet for header and body: two would wait 40 ms for each other

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        images = [array_of(body[key]) for key in ("image0", "image1", "image2") if key in body]
        if self.path != "/act":
            self.reply(404, {"error": "unknown path"})
        elif not images:
            self.reply(400, {"error": "No valid images found."})
        else:
            proprio, instruction = array_of(body["proprio"]), body["language_instruction"]
            actions = act(images, proprio, instruction, body["domain_id"])
            self.reply(200, {"action": actions.tolist()})

    def reply(self, status: int, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler).serve_forever()
