"""A policy server as EmbodyBench's guide shows one: FastAPI, one process, a dictionary of episodes.

Written from the protocol alone: its request models do not know `action_space`, nothing is repeated or stored,
errors have FastAPI's form. `model` gets the decoded observation and returns the next action.
"""

from __future__ import annotations

import base64
import io
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI, Header, HTTPException
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel


class InitBody(BaseModel):
    benchmark: str
    task: str
    seed: int
    max_steps: int
    embodiment: str
    instruction: str


class Seen(BaseModel):
    image_countertop: str
    image_wrist_left: str
    image_wrist_right: str
    state: list[float]
    instruction: str


class StepBody(BaseModel):
    step: int
    obs: Seen


class FinalizeBody(BaseModel):
    outcome: str


@dataclass
class Moment:
    """What the model is asked about."""

    step: int
    frame: NDArray[np.uint8]
    state: NDArray[np.float64]
    begun_with: InitBody


Model = Callable[[Moment], Any]


@dataclass
class Guide:
    """The server, and what was said to it."""

    model: Model
    token: str | None = None
    url: str = ""
    episodes: dict[str, InitBody] = field(default_factory=dict)
    begun: list[InitBody] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)

    def app(self) -> FastAPI:
        app = FastAPI()

        def check(authorization: str | None) -> None:
            if self.token is not None and authorization != f"Bearer {self.token}":
                raise HTTPException(401, "bad token")

        @app.post("/episode/init")
        def init(body: InitBody, authorization: str | None = Header(None)) -> dict[str, Any]:
            check(authorization)
            episode_id = f"ep_{uuid.uuid4().hex[:12]}"
            self.episodes[episode_id] = body
            self.begun.append(body)
            return {"episode_id": episode_id, "ttl_sec": 3600}

        @app.post("/episode/{episode_id}/step")
        def step(episode_id: str, body: StepBody, authorization: str | None = Header(None)) -> dict[str, Any]:
            check(authorization)
            if episode_id not in self.episodes:
                raise HTTPException(404, "unknown episode_id")
            for name in ("image_wrist_left", "image_wrist_right"):
                decoded(getattr(body.obs, name))
            frame, state = decoded(body.obs.image_countertop), np.array(body.obs.state)
            action = self.model(Moment(body.step, frame, state, self.episodes[episode_id]))
            return {"action": np.asarray(action).tolist()}

        @app.post("/episode/{episode_id}/finalize")
        def finalize(
            episode_id: str, body: FinalizeBody, authorization: str | None = Header(None)
        ) -> dict[str, Any]:
            check(authorization)
            self.episodes.pop(episode_id, None)
            self.outcomes.append(body.outcome)
            return {"ok": True}

        return app


def decoded(text: str) -> NDArray[np.uint8]:
    return np.array(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB"))


@contextmanager
def guide_server(model: Model, *, token: str | None = None) -> Iterator[Guide]:
    """Serve a model from this process on a free port of loopback."""
    guide = Guide(model, token)
    config = uvicorn.Config(guide.app(), host="127.0.0.1", port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    guide.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield guide
    finally:
        server.should_exit = True
        thread.join(10)
