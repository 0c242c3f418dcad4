"""One lane of RoboTwin's kind: named features and representations over upstream's terms.

RoboPRO's lanes are the same over another simulator.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks.contract import Episode, Reset, Segment, StepResult
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.family import refuse_other_pictures, refuse_predicates
from proctor.benchmarks.features import refuse_unknown
from proctor.benchmarks.robotwin.commands import Command, find_commands
from proctor.benchmarks.robotwin.observation import Observed, Reader, reader_of
from proctor.benchmarks.robotwin.settings import REFERENCE, refuse_candidates
from proctor.policy import FeatureValue

INSTRUCTION = "language.instruction"


class Simulator(Protocol):
    """What a lane asks of upstream. Every method raises `BenchmarkFault` where upstream raises."""

    def reset(self, seed: int, settings: Mapping[str, Any]) -> NDArray[np.float64]:
        """Build the start of a seed, as upstream does before it scores, and return its state."""
        ...

    def act(self, command: Command) -> tuple[bool, tuple[str, ...]]:
        """Carry one action out; whether the goal held at any moment of it, and events."""
        ...

    def observe(self) -> Observed:
        """Upstream's observation, frames of all cameras included."""
        ...

    def proprioception(self) -> Observed:
        """Upstream's observation without frames; asking for it changes nothing."""
        ...

    def pass_by(self) -> None:
        """Do what an observation whose frames nobody reads would have done to the simulation."""
        ...

    def metrics(self) -> Mapping[str, float]:
        """Figures of the episode so far."""
        ...

    def close(self) -> None:
        """Release the simulator. Idempotent."""
        ...


class TwinLane:
    """One lane. See `proctor.benchmarks.contract` for the rules it keeps."""

    def __init__(
        self,
        definition: BenchmarkDefinition,
        task: TaskDefinition,
        action: ActionDefinition,
        simulator: Simulator,
        listing: str,
    ) -> None:
        """`listing`: the command that makes the list of seeds, for the refusal of an episode without."""
        refuse_other_pictures(definition, REFERENCE)
        self._commands = find_commands(action.representation)
        self._readers: dict[str, Reader | None] = {
            feature.name: None if feature.name == INSTRUCTION else reader_of(feature)
            for feature in definition.features
        }
        self._frames = {feature.name for feature in definition.features if feature.kind == "image"}
        self._simulator = simulator
        self._observed: Observed | None = None
        self._listing = listing
        self._segments: tuple[Segment, ...] = ()
        self._instruction = task.instruction

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Build the start that belongs to `episode.seed`.

        The initial state is float64: the robot's joints, those of every other articulation, then position
        (m) and quaternion wxyz of every actor, in upstream's order. Success is not judged before the first
        action, as upstream does not. Raises `BenchmarkFault` for a seed that nobody tried, and where
        upstream's reset raises, things that do not come to rest included.
        """
        refuse_predicates(episode)
        refuse_candidates(episode, self._listing)
        refuse_unknown(observe, self._readers)
        self._segments = episode.segments
        self._instruction = episode.segments[0].instruction
        start = self._simulator.reset(episode.seed, episode.settings)
        return Reset(self._observe(observe), start)

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Carry one action out, however long the arms take; ends the episode once the goal held in it.

        An arm that no path was found for stands still: an event at every such action, and counted by the
        metric `plan_failed`. Raises `InvalidActionError` for numbers that are no rotation.
        """
        refuse_unknown(observe, self._readers)
        success, events = self._simulator.act(self._commands.command(action))
        return StepResult(
            terminated=success,
            success=success,
            observation=self._observe(observe),
            events=events,
            metrics=self._simulator.metrics(),
        )

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Say the next instruction; the goal is the task's in every segment."""
        self._instruction = self._segments[number].instruction
        return self._read(observe)

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """The last targets again; before the first action, those that the start has."""
        if last is not None:
            return last.copy()
        return self._commands.holding(self._simulator.proprioception()).astype(np.float32)

    def close(self) -> None:
        """Release the simulator."""
        self._simulator.close()

    def _observe(self, names: Collection[str]) -> dict[str, FeatureValue]:
        """Read features where upstream observes: once before the first action and once after each."""
        self._observed = None
        if not self._frames.isdisjoint(names):
            self._observed = self._simulator.observe()
        else:
            self._simulator.pass_by()
        return self._read(names)

    def _read(self, names: Collection[str]) -> dict[str, FeatureValue]:
        """Read features again: of the observation that there is, so that looking twice changes nothing."""
        if not self._frames.isdisjoint(names) and self._observed is None:
            self._observed = self._simulator.observe()
        observed = self._observed or self._simulator.proprioception()
        readers = {name: self._readers[name] for name in names}
        return {name: self._instruction if read is None else read(observed) for name, read in readers.items()}
