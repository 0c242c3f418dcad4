"""One lane of LIBERO-plus: a scene for every variant, looked at as its name says."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from proctor.benchmarks.contract import Episode, Reset
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    FeatureDefinition,
    TaskDefinition,
)
from proctor.benchmarks.family import refuse_predicates
from proctor.benchmarks.features import Sampler
from proctor.benchmarks.libero.lane import Lane
from proctor.benchmarks.libero.upstream import START_DIGITS
from proctor.benchmarks.libero_plus import resources
from proctor.benchmarks.libero_plus.noise import Noise
from proctor.benchmarks.libero_plus.settings import episode_settings_of, settings_of, task_settings_of
from proctor.benchmarks.libero_plus.variants import Variant, parse_variant
from proctor.errors import BenchmarkFault
from proctor.policy import FeatureValue

CAMERA: Final = "agentview"
"""The one that variants move, and put noise on."""


class LiberoPlusEnvironment(Lane):
    """One lane. See `Lane`. A variant is a scene of its own: going on to another takes seconds."""

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """Raises, beside what `Lane` does, `BenchmarkFault` for a definition that settles nothing: upstream
        puts no noise on what it shows before a step."""
        super().__init__(definition, action)
        if definition.settle_steps < 1:
            raise BenchmarkFault(f"{definition.id}: settle_steps is 0; LIBERO-plus needs at least 1")
        self._settings, self._task = settings_of(definition), task_settings_of(task)
        self._task_id = task.id
        self._variant: Variant | None = None
        self._noise = Noise(0)
        self._noisy = {f.name for f in definition.features if f.camera == CAMERA}

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Build the variant that the episode names, and let it settle: see `Lane`.

        Raises `BenchmarkFault` for a variant of another dimension than the task's, without files, or with
        another sentence, which an episode of several segments may say; `EnvironmentMissing` for one whose
        assets are not there.
        """
        refuse_predicates(episode)
        variant = parse_variant(episode_settings_of(episode).variant)
        self._refuse_unfit(episode, variant)
        self._go_to(variant)
        reset = self._start(episode, resources.start_of(self._task, variant), 0, observe)
        return replace(reset, success=reset.success and self._settings.success_while_settling == "counts")

    def _refuse_unfit(self, episode: Episode, variant: Variant) -> None:
        if variant.dimension != self._task.dimension:
            raise BenchmarkFault(
                f"episode {episode.id}: variant {variant.name!r} is one of {variant.dimension}, the task's "
                f"dimension is {self._task.dimension}"
            )
        said, sentence = episode.segments[0].instruction, resources.sentence_of(self._task, variant)
        if said != sentence and len(episode.segments) == 1:
            raise BenchmarkFault(
                f"episode {episode.id}: the version says {said!r}, the simulator's files {sentence!r}"
            )

    def _go_to(self, variant: Variant) -> None:
        if variant == self._variant:
            return
        noise = Noise(variant.look.noise)
        self.close()
        self._variant = None
        self._enter(resources.open_scene(self._task, variant, self._sample))
        self._interest = resources.objects_of_interest(resources.scene_file(self._task, variant))
        self._variant, self._noise = variant, noise

    def close(self) -> None:
        """Free the render context and the simulation."""
        super().close()
        self._variant = None

    def _state(self) -> NDArray[np.float64]:
        """As in LIBERO, then the pose of `agentview` and the joints that the controller prefers."""
        upstream = self._upstream
        own = np.concatenate([upstream.camera_pose(CAMERA), upstream.preferred_joints()])
        return np.concatenate([super()._state(), np.round(own, START_DIGITS) + 0.0])

    def _reset(self, state: NDArray[np.float64], seed: int, draws: int) -> None:
        super()._reset(state, seed, draws)
        self._noise.skip()

    def _advance(self, command: NDArray[Any], observe: Collection[str]) -> bool:
        success = super()._advance(command, observe)
        if self._noisy.isdisjoint(self._observe):
            self._noise.skip()
        return success

    def _camera(self, feature: FeatureDefinition) -> Sampler:
        plain = super()._camera(feature)
        return (lambda: self._with_noise(plain())) if feature.camera == CAMERA else plain

    def _with_noise(self, frame: FeatureValue) -> FeatureValue:
        """Noise is put on upstream's own array, which is turned afterwards."""
        upstreams = np.ascontiguousarray(np.asarray(frame)[::-1, ::-1])
        return np.ascontiguousarray(self._noise.of(upstreams)[::-1, ::-1])
