"""An openpi request is the observation and nothing else."""

from __future__ import annotations

import numpy as np

from proctor.policy import EpisodeContext, get_benchmark_spec
from proctor.policy.observation import FeatureValue, Observation
from proctor.wire.mapper import Mapper
from proctor.wire.numpy_msgpack import decode, encode
from proctor.wire.openpi.codec import OpenpiExchange
from proctor.wire.presets import PRESETS

SPEC = get_benchmark_spec("libero", "libero_spatial")
MAPPER = Mapper(PRESETS["openpi-libero"], SPEC)


def observation() -> Observation:
    features: dict[str, FeatureValue] = {
        "images.primary": np.full((256, 256, 3), 7, np.uint8),
        "images.wrist": np.full((256, 256, 3), 9, np.uint8),
        "state.eef_axis_angle": np.arange(8, dtype=np.float32),
        "language.instruction": "put the bowl on the plate",
    }
    return Observation("a", 0, features, seed=5)


def test_a_request_has_the_keys_and_sizes_of_the_published_client() -> None:
    message = decode(bytes(OpenpiExchange({}, MAPPER, {}).request(observation())))
    shapes = {key: value.shape if isinstance(value, np.ndarray) else value for key, value in message.items()}
    assert shapes == {
        "observation/image": (224, 224, 3),
        "observation/wrist_image": (224, 224, 3),
        "observation/state": (8,),
        "prompt": "put the bowl on the plate",
    }


def test_a_reply_may_hold_more_than_the_chunk() -> None:
    reply = {"actions": np.ones((10, 7)), "state": np.zeros(8), "policy_timing": {"infer_ms": 60.5}}
    chunk = OpenpiExchange({}, MAPPER, {}).chunk(encode(reply))
    assert chunk.actions.shape == (10, 7)
    assert chunk.actions.dtype == np.float32


def test_metadata_is_recorded_in_short_and_may_change() -> None:
    exchange = OpenpiExchange({"reset_pose": [0.0, 1.5], "blob": "x" * 5000, "a": np.zeros(3)}, MAPPER, {})
    assert exchange.terms == {}
    recorded = exchange.details["metadata"]
    assert recorded["reset_pose"] == [0.0, 1.5]
    assert len(recorded["blob"]) == 200
    assert exchange.opening(EpisodeContext("a", "task")) is None
