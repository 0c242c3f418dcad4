"""A model server on vla-eval: its own loop, chunk buffer and codecs around a pilot.

python vla_eval_server.py steer|reach|raise      prints its port
"""

from __future__ import annotations

import sys

import anyio
import pilot
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import serve_async
from vla_eval.specs import IMAGE_RGB, LANGUAGE, RAW


class Pilot(PredictModelServer):
    def __init__(self, kind):
        super().__init__(chunk_size=pilot.ROWS)
        self.kind = kind

    def predict(self, obs, ctx):
        if self.kind == "reach":
            assert obs["images"]["agentview"].shape == (480, 480, 3)
            return {"actions": pilot.reach(obs["controller_states"])}
        assert obs["task_description"].startswith(("move", "park"))
        if self.kind == "raise" and obs["task_description"].startswith("park"):
            raise ValueError("this model knows no such scene")
        return {"actions": pilot.steer(obs["images"]["agentview"], obs["states"])}

    async def on_episode_start(self, config, ctx):
        if self.kind == "raise" and config["task"]["name"] == "cliff":
            raise RuntimeError("this model fears heights")
        await super().on_episode_start(config, ctx)

    def get_action_spec(self):
        return {"velocity": RAW}

    def get_observation_spec(self):
        return {"image": IMAGE_RGB, "state": RAW, "language": LANGUAGE}


async def main():
    async with anyio.create_task_group() as tasks:
        print(await tasks.start(serve_async, Pilot(sys.argv[1]), "127.0.0.1", 0), flush=True)


anyio.run(main)
