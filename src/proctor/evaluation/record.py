"""What one episode leaves behind. The store keeps it, results are computed from it and from nothing else."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

import msgspec

Finite = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]


class Outcome(str, Enum):
    """How an episode ended. A closed set; `results` is exhaustive over it."""

    SUCCESS = "success"
    FAILURE = "failure"
    POLICY_ERROR = "policy_error"
    BENCHMARK_ERROR = "benchmark_error"
    INFRASTRUCTURE_ERROR = "infrastructure_error"
    CANCELLED = "cancelled"


EVALUATED = frozenset({Outcome.SUCCESS, Outcome.FAILURE, Outcome.POLICY_ERROR})
"""Outcomes that are results. The others leave the episode to be run again."""

Phase = Literal["boot", "begin", "policy_reset", "policy_act", "check_action", "step", "record", "teardown"]
"""Where in an episode something happened."""

Termination = Literal["success", "horizon", "simulator", "policy_error", "error", "cancelled"]
"""Why the episode stopped."""


Filmed = Literal["none", "first", "failures", "all"]
"""Which episodes are filmed. `first`: the first of every task, chosen before anything ran."""


class ErrorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One fault and its address."""

    phase: Phase
    type: str
    """Class name of the exception, or the name of the signal or exit."""
    message: str
    step: int | None = None
    log: str | None = None
    """Path, relative to the run directory, of the log with the whole story."""


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Distribution of one kind of waiting within an episode, milliseconds."""

    count: int
    p50: Finite
    p95: Finite
    p99: Finite
    max: Finite


class SegmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One segment's result."""

    instruction: str
    steps: int
    success_once: bool
    success_at_end: bool
    success_held: bool
    first_success_step: int | None = None
    """Control steps applied when the goal first held; 0 when it held at the start."""


class EpisodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluated or failed episode.

    Identity and science first; everything from `worker` on may differ between two honest runs of the same
    episode and takes no part in any comparison.
    """

    episode_id: str
    task: str
    index: int
    repetition: int
    seed: int
    policy_seed: int
    outcome: Outcome
    steps: int
    """Control steps applied, settling not counted."""
    success_once: bool
    success_at_end: bool
    success_held: bool
    first_success_step: int | None
    termination: Termination
    instruction: str
    instruction_sha256: str
    initial_state_digest: str
    """SHA-256 of the float64 bytes of the start: equal only within one platform fingerprint."""
    initial_state_deviation: Finite | None
    """Largest absolute difference to the recorded start; None when the version records none."""
    segments: tuple[SegmentRecord, ...]
    inferences: int
    actions_clipped: int
    actions_out_of_limits: int
    actions_sha256: str | None = None
    """SHA-256 of the bytes of all applied actions in their order: equal only within one platform fingerprint.
    None in records that are older than this field."""
    privileged_features: tuple[str, ...]
    metrics: dict[str, Finite]
    events: dict[str, int]
    """Event text to how often it happened."""
    error: ErrorRecord | None
    worker: str
    policy_replica: str
    act_ms: Latency | None
    step_ms: Latency | None
    """Control steps, rendering included."""
    boot_s: Finite
    """Making the simulator lane; 0 when an earlier episode made it."""
    episode_s: Finite
    teardown_s: Finite
    video: str | None
    """Path relative to the run directory."""
    finished_at: str
    """UTC, ISO 8601."""


def same_science(a: EpisodeRecord, b: EpisodeRecord) -> bool:
    """Whether two records of one episode identity say the same: identity, outcome and steps."""
    return (a.episode_id, a.seed, a.policy_seed, a.outcome, a.steps) == (
        b.episode_id,
        b.seed,
        b.policy_seed,
        b.outcome,
        b.steps,
    )
