"""What a policy is asked about, once per inference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.policy import _fields
from proctor.policy.seeds import SEED_MAX
from proctor.policy.spec import ARRAY_KINDS

FeatureValue = NDArray[Any] | str


@dataclass(frozen=True, eq=False)
class Observation:
    """The features of one moment of one episode.

    `features` maps names to arrays (images uint8 height × width × 3 RGB, states float32) or to str for
    language. A feature with declared offsets has one more leading axis. `step` is the control step from 0,
    `inference_index` counts the inferences of the episode from 0, `seed` in [0, 2**63) is the noise seed of
    this inference, `timestamp_s` the simulated time in seconds.

    Two observations are equal only if they are the same object: comparing arrays has no single answer.
    """

    episode_id: str
    step: int
    features: dict[str, FeatureValue]
    timestamp_s: float | None = None
    inference_index: int = 0
    seed: int | None = None

    def __post_init__(self) -> None:
        _fields.text("Observation.episode_id", self.episode_id)
        _fields.whole("Observation.step", self.step, minimum=0)
        object.__setattr__(self, "features", _fields.mapping("Observation.features", self.features))
        for name, value in self.features.items():
            _check_value(name, value)
        _fields.optional_finite("Observation.timestamp_s", self.timestamp_s)
        _fields.whole("Observation.inference_index", self.inference_index, minimum=0)
        _fields.optional_whole("Observation.seed", self.seed, minimum=0, maximum=SEED_MAX)

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict. Arrays stay arrays, uncopied: how they travel is the wire's business."""
        return {
            "episode_id": self.episode_id,
            "step": self.step,
            "features": dict(self.features),
            "timestamp_s": self.timestamp_s,
            "inference_index": self.inference_index,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Observation:
        """Inverse of `to_dict`."""
        return cls(**_fields.arguments(cls, data))


def _check_value(name: str, value: object) -> None:
    if isinstance(value, str):
        return
    if not isinstance(value, np.ndarray):
        raise TypeError(f"feature {name!r} must be a numpy array or a str, got {type(value).__name__}")
    if value.dtype.kind not in ARRAY_KINDS:
        raise TypeError(f"feature {name!r} has dtype {value.dtype}; only bool, int, uint and float travel")
