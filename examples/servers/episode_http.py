"""The HTTP episode protocol. Needs fastapi, uvicorn, numpy and pillow.

Start it, then check it:

    python episode_http.py --port 8000 [--token-file token.txt]
    proctor bench check-server --policy http://127.0.0.1:8000 [--token-file token.txt]
"""

import argparse
import base64
import io
import secrets
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException
from PIL import Image

TTL_S = 3600
app = FastAPI()
token = ""
episodes: dict[str, dict[str, Any]] = {}
lock = threading.Lock()  # FastAPI calls these functions from many threads


def act(frame: np.ndarray, state: np.ndarray, memory: dict[str, Any]) -> np.ndarray:
    """Your model: the next action. What it remembers of this episode belongs into `memory`."""
    return state


def admit(authorization: str = Header("")) -> None:
    """Let in who knows the token, on every request."""
    if token and not secrets.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
        raise HTTPException(401, "wrong token")


@app.post("/episode/init", dependencies=[Depends(admit)])
def init(body: dict[str, Any]) -> dict[str, Any]:
    """Begin an episode, and forget those that nobody asked for since TTL_S."""
    with lock:
        for name in [name for name, each in episodes.items() if each["used"] < time.monotonic() - TTL_S]:
            del episodes[name]
        episode_id = f"ep_{secrets.token_hex(16)}"
        episodes[episode_id] = {"memory": {}, "step": None, "action": None, "used": time.monotonic()}
    return {"episode_id": episode_id, "ttl_sec": TTL_S}


@app.post("/episode/{episode_id}/step", dependencies=[Depends(admit)])
def step(episode_id: str, body: dict[str, Any]) -> dict[str, Any]:
    """Answer an observation with one action."""
    with lock:
        episode = episodes.get(episode_id)
        if episode is None:
            raise HTTPException(404, "unknown episode")
        if episode["step"] != body["step"]:  # else it is a retry: the same action again
            seen = body["obs"]
            frame = np.asarray(Image.open(io.BytesIO(base64.b64decode(seen["image_countertop"]))))
            action = act(frame, np.asarray(seen["state"], np.float32), episode["memory"])
            episode["step"], episode["action"] = body["step"], action.tolist()
        episode["used"] = time.monotonic()
        return {"action": episode["action"]}


@app.post("/episode/{episode_id}/finalize", dependencies=[Depends(admit)])
def finalize(episode_id: str, body: dict[str, Any]) -> dict[str, bool]:
    """End an episode; one that is not known has ended before."""
    with lock:
        episodes.pop(episode_id, None)
    return {"ok": True}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--token-file", type=Path)
    options = parser.parse_args()
    token = options.token_file.read_text().strip() if options.token_file else ""
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")
