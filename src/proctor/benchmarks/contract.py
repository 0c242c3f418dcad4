"""What a benchmark is to the rest of proctor: episodes, environments, and the family that makes them.

Rules every Environment keeps (the conformance kit in `proctor.testing` checks them):

* One lane, one thread. `begin`, `step`, `hold_action` and `close` are called from the same thread.
* `begin(episode, observe)` is a pure function of the episode: the same state whatever ran before, in this
  process or another.
* What will be read is declared before the step. An adapter samples a feature exactly when its upstream
  does, renders nothing that nobody reads, and returns frames bit-identical to those of the upstream
  environment observed at every step.
* One segment is active: its goal is what `success` speaks of, and what features show. `begin` enters
  segment 0, `enter_segment` the next, and nothing else does. The rollout calls it once the active segment
  has ended as a success by the declared meaning, which an environment does not know.
* Arrays handed out are copies: the environment never writes to them again.
* After `terminated` only `begin` and `close` may be called. `close` is idempotent.
* An environment may keep module-level simulator state, so a process holds one lane unless the family
  says that it vectorises.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.policy import FeatureValue


class Segment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One instruction, the goal that ends it, and how many control steps it may take."""

    instruction: str
    horizon: int
    """Control steps; settling steps are not counted."""
    predicate: str = "success"
    """Name of the family's goal check that this segment is scored by."""


class Episode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One seeded trial, complete: nothing that decides its start is looked up anywhere else."""

    id: str
    """`<task>/<index>/<repetition>`, unique within a run."""
    task: str
    index: int
    """Position in the benchmark's list for this task, from 0."""
    seed: int
    """The simulator's own seed, verbatim."""
    segments: tuple[Segment, ...]
    repetition: int = 0
    settings: dict[str, Any] = {}
    """What else the family needs to build the start (JSON values)."""
    initial_state: tuple[float, ...] | None = None
    """Recorded start, compared with what `begin` makes; None while the version is a draft without them."""

    @property
    def start(self) -> str:
        """`<task>/<index>`: the same for every repetition; policy seeds are derived from it."""
        return f"{self.task}/{self.index}"


class Reset(msgspec.Struct, frozen=True):
    """What `Environment.begin` found."""

    observation: dict[str, FeatureValue]
    initial_state: NDArray[np.float64]
    """(n,) float64: the simulator state that defines the start, in the family's documented order."""
    success: bool = False
    """The goal already holds."""


class StepResult(msgspec.Struct, frozen=True):
    """What one control step did."""

    terminated: bool
    """The simulator itself ended the episode; reaching the horizon is the rollout's business."""
    success: bool
    """The active segment's goal holds after this step (momentary; the rollout applies the semantics)."""
    observation: dict[str, FeatureValue]
    """Exactly the features named in `observe`."""
    events: tuple[str, ...] = ()
    """Things worth a line in the record: a clipped action, a dropped object, an unreachable pose."""
    metrics: Mapping[str, float] = {}
    """Named figures beside success; the last value of each is kept with the episode."""


class Environment(Protocol):
    """One simulator lane. See the module's rules."""

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Build the episode's start and return it with the features named in `observe`."""
        ...

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Advance one control step. `action`: (dimension,), dtype and limits already checked.

        Raises `InvalidActionError` for numbers that stand for nothing in the lane's representation.
        """
        ...

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Make segment `number`, from 1, of the begun episode the active one. No time passes.

        Returns exactly the features named in `observe`, as they are now: they show the new goal.
        """
        ...

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """The action that keeps the robot where it is while it waits; `last` is the latest one applied."""
        ...

    def close(self) -> None:
        """Release the simulator. Idempotent."""
        ...


@runtime_checkable
class DrawsItself(Protocol):
    """An environment whose frames are not OpenGL's, of which a worker knows by itself who draws."""

    @property
    def drawn_by(self) -> str:
        """Backend and device, as in `vulkan: llvmpipe (LLVM 15.0.6)`; empty before the first frame."""
        ...


class Family(Protocol):
    """One simulator family: knows how to make environments. Importing it must not import the simulator."""

    @property
    def name(self) -> str:
        """The name benchmark versions refer to it by."""
        ...

    def open(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> Environment:
        """Make a lane for one task, in the environment's own interpreter.

        `action` is the one of the definition's representations whose numbers `step` will be given.
        Raises `EnvironmentMissing` naming what is not installed.
        """
        ...

    def packages(self) -> Mapping[str, str]:
        """Installed versions of the simulator packages named in the definition."""
        ...
