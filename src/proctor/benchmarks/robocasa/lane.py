"""One lane of RoboCasa's: named features and one flat action over upstream's dictionaries."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks.contract import Episode, Reset, Segment, StepResult
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    FeatureDefinition,
    TaskDefinition,
)
from proctor.benchmarks.family import refuse_other_pictures, refuse_predicates
from proctor.benchmarks.features import Sampler, refuse_unknown, sample, samplers_of
from proctor.benchmarks.robocasa.kitchen import Kitchen, Observed
from proctor.benchmarks.robocasa.layouts import layout_of
from proctor.benchmarks.robocasa.settings import REFERENCE, sentence_of, settings_of
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.policy import FeatureValue


class RoboCasaLane:
    """One lane. See `proctor.benchmarks.contract` for the rules it keeps."""

    def __init__(
        self,
        definition: BenchmarkDefinition,
        task: TaskDefinition,
        action: ActionDefinition,
        kitchen: Kitchen,
    ) -> None:
        """Raises for a feature, representation or picture that this family does not make."""
        settings = settings_of(definition)
        refuse_other_pictures(definition, REFERENCE)
        self._layout = layout_of(settings.simulator, action.representation)
        self._success_every = settings.success_every
        self._kitchen = kitchen
        self._observed: Observed = {}
        self._looked = False
        self._segments: tuple[Segment, ...] = ()
        self._instruction = task.instruction
        self._taken = 0
        self._closed = False
        self._images = {feature.name for feature in definition.features if feature.kind == "image"}
        self._samplers = samplers_of("RoboCasa", definition.features, self._camera, self._sensors())

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Build the start that upstream makes of `episode.seed`.

        The initial state is float64: time, positions, velocities of the whole simulation. Raises
        `BenchmarkFault` for an episode that is not recorded, and where upstream says another sentence than
        the recorded one: the objects, then, are others.
        """
        refuse_predicates(episode)
        recorded = sentence_of(episode)
        refuse_unknown(observe, self._samplers)
        self._taken, self._segments = 0, episode.segments
        self._instruction = episode.segments[0].instruction
        self._observed, self._looked = self._kitchen.reset(episode.seed), True
        said = str(self._observed[self._layout.language])
        if said != recorded:
            raise BenchmarkFault(f"episode {episode.id}: upstream says {said!r}, recorded is {recorded!r}")
        return Reset(sample(self._samplers, observe), self._kitchen.start())

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Advance 0.05 s. Never terminates by itself: upstream runs to its horizon."""
        refuse_unknown(observe, self._samplers)
        self._taken += 1
        self._looked = not self._images.isdisjoint(observe)
        command = self._layout.command(action)
        self._observed, success = self._kitchen.step(command, look=self._looked)
        looked_at = self._taken % self._success_every == 0
        return StepResult(
            terminated=False,
            success=success and looked_at,
            observation=sample(self._samplers, observe),
        )

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Say the next instruction; the goal is the task's in every segment."""
        refuse_unknown(observe, self._samplers)
        self._instruction = self._segments[number].instruction
        if not (self._looked or self._images.isdisjoint(observe)):
            self._observed, self._looked = self._kitchen.look(), True
        return sample(self._samplers, observe)

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """The last targets again, or no displacement: `layouts.Layout.holding`."""
        return self._layout.holding(last, self._observed or None)

    def close(self) -> None:
        """Close upstream's environment."""
        if not self._closed:
            self._closed = True
            self._kitchen.close()

    def _camera(self, feature: FeatureDefinition) -> Sampler:
        if feature.name not in self._layout.images:
            raise UnknownNameError("image feature of RoboCasa", feature.name, self._layout.images)
        picture = self._layout.images[feature.name]
        if feature.camera != picture.camera:
            raise UnknownNameError(f"camera of {feature.name}", str(feature.camera), (picture.camera,))
        return lambda: np.array(self._observed[picture.key], np.uint8)

    def _sensors(self) -> dict[str, Sampler]:
        return {
            "state.proprioception": lambda: self._layout.proprioception(self._observed),
            "language.instruction": lambda: self._instruction,
        }
