"""What travels in a round trip: two cameras and a state to a policy that costs nothing, one action back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.policy import (
    ActionChunk,
    ActionSpec,
    BenchmarkSpec,
    EpisodeContext,
    FeatureKind,
    FeatureSpec,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)
from proctor.policy.observation import FeatureValue
from proctor.wire.session import PolicySession

DIMENSION = 8
Ask = Callable[[int], None]
"""Makes one round trip; gets the number of the call."""

CAMERAS = ("images.primary", "images.left_wrist", "images.right_wrist")


def spec_of(cameras: int, height: int, width: int) -> BenchmarkSpec:
    """A benchmark with so many cameras and a state of eight values."""
    images = [
        FeatureSpec(name, FeatureKind.IMAGE, dtype="uint8", shape=(height, width, 3)) for name in CAMERAS
    ]
    return BenchmarkSpec(
        name="roundtrip",
        suite="all",
        protocol_version="1",
        features=(
            *images[:cameras],
            FeatureSpec("state.joints", FeatureKind.STATE, dtype="float32", shape=(DIMENSION,)),
            FeatureSpec("language.instruction", FeatureKind.LANGUAGE),
        ),
        action=ActionSpec(name="joints", description="", dimension=DIMENSION),
        supported_action_representations=("bench.joint_position-v1",),
        default_action_representation="bench.joint_position-v1",
    )


RAW = spec_of(2, 256, 256)
JPEG = spec_of(3, 240, 320)


def arrays(spec: BenchmarkSpec) -> dict[str, NDArray[Any]]:
    """A client's arrays. Frames have the detail of a camera's: edges and gradients under a little noise."""
    random = np.random.default_rng(0)
    made: dict[str, NDArray[Any]] = {}
    for feature in spec.features:
        if feature.kind is FeatureKind.IMAGE:
            height, width, _ = (size or 0 for size in feature.shape or ())
            made[feature.name] = _frame(random, height, width)
        elif feature.kind is FeatureKind.STATE:
            made[feature.name] = np.zeros(DIMENSION, np.float32)
    return made


def _frame(random: np.random.Generator, height: int, width: int) -> NDArray[np.uint8]:
    blocks = random.integers(0, 200, (height // 16, width // 16, 3)).repeat(16, 0).repeat(16, 1)
    slope = np.linspace(0, 50, width)[None, :, None]
    noise = random.normal(0, 2, blocks.shape)
    return np.clip(blocks + slope + noise, 0, 255).astype(np.uint8)


class ConstantPolicy(Policy):
    """Costs nothing."""

    def load(self, context: SessionContext) -> PolicyCapabilities:
        """Make the chunk that every call is answered with."""
        self.chunk = ActionChunk(np.zeros((1, DIMENSION), np.float32))
        return PolicyCapabilities(supported_benchmarks=("roundtrip",), required_features=("state.joints",))

    def act(self, observation: Observation) -> ActionChunk:
        """The same as ever."""
        return self.chunk


@contextmanager
def asking(session: PolicySession, spec: BenchmarkSpec, client: int) -> Iterator[Ask]:
    """Round trips of one episode."""
    episode = f"episode-{client}"
    features: dict[str, FeatureValue] = {**arrays(spec), "language.instruction": "go"}

    def ask(step: int) -> None:
        observation = Observation(episode, step, dict(features), inference_index=step, seed=step)
        assert session.act(observation).actions.shape[-1] == DIMENSION

    session.begin(EpisodeContext(episode, "task", policy_seed=1, horizon=1 << 30, instruction="go"))
    yield ask
    session.end(episode, "success")
    session.close()
