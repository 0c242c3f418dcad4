"""The client of evostudio-inference-sdk, asking whatever serves at a socket; prints what it heard as JSON.

python evostudio_asker.py SOCKET whole|split      one connection for everything, or one for each request
"""

from __future__ import annotations

import json
import sys
from functools import partial

import numpy as np
from evostudio_inference_sdk import (
    EpisodeContext,
    Observation,
    PolicyClient,
    PolicyRemoteError,
    SessionContext,
    get_benchmark_spec,
    validate_action_chunk,
    validate_policy_capabilities,
)

SPEC = get_benchmark_spec("metaworld", "mt10")


def observation(episode_id, step, length=4):
    features = {
        "images.primary": np.full((480, 480, 3), step, np.uint8),
        "state.proprioception": np.arange(length, dtype=np.float32) + step,
        "language.instruction": "reach the goal",
    }
    return Observation(episode_id, step, features)


def refusal(ask):
    try:
        ask()
    except PolicyRemoteError as error:
        return [error.operation, error.error_type, error.state, error.remote_message, error.remote_traceback]
    raise AssertionError("nothing was refused")


def whole(path):
    heard = {}
    with PolicyClient(path) as client:
        heard["first state"] = client.wait_until_ready(10)["state"]
        capabilities = client.load(SessionContext("s", "", SPEC))
        validate_policy_capabilities(SPEC, capabilities)
        heard["chunk sizes"] = capabilities.supported_action_chunk_sizes
        for name in "ab":
            heard["reset"] = client.reset(EpisodeContext(name, "reach-v3", {"policy_seed": 7}))
        chunk = client.act(observation("a", 1))
        validate_action_chunk(chunk, SPEC)
        heard["act"] = chunk.actions.tolist()
        batch = client.act_batch((observation("a", 2), observation("b", 3)))
        heard["batch"] = [chunk.actions.tolist() for chunk in batch]
        heard["wrong"] = [refusal(lambda: client.act(observation("a", 4, length=8))) for _ in range(3)]
        heard["after"] = client.act(observation("a", 5)).actions.tolist()
        heard["raised"] = refusal(lambda: client.act(observation("b", 13)))
        heard["second load"] = refusal(lambda: client.load(SessionContext("s", "", SPEC)))
        heard["end"] = client.end_episode("a")
        heard["unload"] = client.unload()
    return heard


def split(path):
    def once(ask):
        with PolicyClient(path) as client:
            return ask(client)

    once(lambda client: client.load(SessionContext("s", "", SPEC)))
    once(lambda client: client.reset(EpisodeContext("a", "reach-v3")))
    chunks = [once(partial(PolicyClient.act, observation=observation("a", step))) for step in range(3)]
    end = once(lambda client: client.end_episode("a"))
    return {"acts": [chunk.actions.tolist() for chunk in chunks], "end": end}


print(json.dumps({"whole": whole, "split": split}[sys.argv[2]](sys.argv[1])))
