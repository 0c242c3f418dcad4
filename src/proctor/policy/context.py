"""What a policy is told before it loads (SessionContext) and before each episode (EpisodeContext)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.policy import _fields
from proctor.policy.seeds import SEED_MAX
from proctor.policy.spec import BenchmarkSpec


@dataclass(frozen=True)
class SessionContext:
    """One loading of one replica.

    `checkpoint_path` is the user's own value, empty when none was given. `metadata` holds JSON values:
    `execute_steps`, `control_hz` and `horizon` (control steps, by task) where they are known.
    """

    session_id: str
    checkpoint_path: str
    benchmark: BenchmarkSpec
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _fields.text("SessionContext.session_id", self.session_id)
        _fields.text("SessionContext.checkpoint_path", self.checkpoint_path, empty=True)
        _fields.instance("SessionContext.benchmark", self.benchmark, BenchmarkSpec)
        object.__setattr__(self, "metadata", _fields.json_object("SessionContext.metadata", self.metadata))

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "session_id": self.session_id,
            "checkpoint_path": self.checkpoint_path,
            "benchmark": self.benchmark.to_dict(),
            "metadata": _fields.json_object("SessionContext.metadata", self.metadata),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SessionContext:
        """Inverse of `to_dict`."""
        values = _fields.arguments(cls, data)
        values["benchmark"] = BenchmarkSpec.from_dict(values["benchmark"])
        return cls(**values)


@dataclass(frozen=True)
class EpisodeContext:
    """One episode, or one segment of it where the benchmark resets the policy per segment.

    `horizon` counts control steps, `control_hz` is control steps per second. `policy_seed` is the policy's
    own seed for this episode, in [0, 2**63). It stands under `metadata["policy_seed"]` too, for policies that
    know only the first three fields: whichever is given sets the other, and they may not disagree.
    """

    episode_id: str
    task_id: str
    metadata: dict[str, Any] = field(default_factory=dict)
    policy_seed: int | None = None
    horizon: int | None = None
    control_hz: float | None = None
    instruction: str | None = None
    segment: int = 0

    def __post_init__(self) -> None:
        _fields.text("EpisodeContext.episode_id", self.episode_id)
        _fields.text("EpisodeContext.task_id", self.task_id)
        object.__setattr__(self, "metadata", _fields.json_object("EpisodeContext.metadata", self.metadata))
        self._join_seed()
        _fields.optional_whole("EpisodeContext.horizon", self.horizon, minimum=1)
        hz = _fields.optional_finite("EpisodeContext.control_hz", self.control_hz)
        if hz is not None and hz <= 0:
            raise ValueError(f"EpisodeContext.control_hz must be above 0, got {hz}")
        object.__setattr__(self, "control_hz", hz)
        _fields.optional_text("EpisodeContext.instruction", self.instruction, empty=True)
        _fields.whole("EpisodeContext.segment", self.segment, minimum=0)

    def _join_seed(self) -> None:
        stated = self.metadata.get("policy_seed")
        seed = stated if self.policy_seed is None else self.policy_seed
        _fields.optional_whole("EpisodeContext.policy_seed", seed, minimum=0, maximum=SEED_MAX)
        if stated is not None and stated != seed:
            raise ValueError(f"EpisodeContext.policy_seed is {seed}, its metadata says {stated}")
        if seed is not None:
            object.__setattr__(self, "policy_seed", seed)
            self.metadata["policy_seed"] = seed

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "episode_id": self.episode_id,
            "task_id": self.task_id,
            "metadata": _fields.json_object("EpisodeContext.metadata", self.metadata),
            "policy_seed": self.policy_seed,
            "horizon": self.horizon,
            "control_hz": self.control_hz,
            "instruction": self.instruction,
            "segment": self.segment,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EpisodeContext:
        """Inverse of `to_dict`."""
        return cls(**_fields.arguments(cls, data))
