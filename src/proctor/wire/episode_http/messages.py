"""What travels: one JSON object in every body. Unknown keys are ignored in both directions.

POST /episode/init              InitRequest      -> InitReply
POST /episode/{id}/step         step, obs        -> StepReply     (obs: see `codec.py`)
POST /episode/{id}/finalize     FinalizeRequest  -> FinalizeReply
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from proctor.policy.seeds import SEED_MAX

INIT_PATH: Final = "/episode/init"

Text = Annotated[str, Meta(max_length=4096)]
Id = Annotated[str, Meta(min_length=1, max_length=256)]
Outcome = Literal["complete", "interrupted", "timeout"]
"""`complete`: success. `timeout`: the step limit came first. `interrupted`: anything else."""


class InitRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An episode begins."""

    benchmark: Text
    task: Annotated[str, Meta(min_length=1, max_length=256)]
    seed: int
    """Seed of the simulator."""
    max_steps: Annotated[int, Meta(ge=1)]
    """There is no step after so many."""
    embodiment: Text
    instruction: Text
    action_space: Text = ""
    """Name of the action representation; empty where an older client does not send it."""
    policy_seed: Annotated[int, Meta(ge=0, le=SEED_MAX)] | None = None
    """proctor's addition: the policy's own seed for this episode, below 2**63."""
    control_hz: Annotated[float, Meta(gt=0)] | None = None
    """proctor's addition: control steps per simulated second."""


class InitReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The server's own name for it."""

    episode_id: Id
    ttl_sec: float | None = None
    """Seconds without a step after which the server forgets the episode."""


class StepReply(Struct, frozen=True):
    """One action."""

    action: list[int | float]


class FinalizeRequest(Struct, frozen=True):
    """The episode is over."""

    outcome: Outcome


class FinalizeReply(Struct, frozen=True):
    """Acknowledged."""

    ok: bool = True
