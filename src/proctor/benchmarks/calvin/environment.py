"""One CALVIN lane: upstream's environment and oracle, a segment per subtask."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.actions.calvin_tcp import RELATIVE
from proctor.benchmarks import checkouts
from proctor.benchmarks.calvin.commands import COMMANDS, hold_absolute, hold_relative
from proctor.benchmarks.calvin.manifest import condition_of
from proctor.benchmarks.calvin.settings import REFERENCE, VARIABLE, settings_of
from proctor.benchmarks.calvin.simulator import Info, PlayTable
from proctor.benchmarks.calvin.starts import robot_start, scene_start
from proctor.benchmarks.contract import Episode, Reset, Segment, StepResult
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    FeatureDefinition,
    TaskDefinition,
)
from proctor.benchmarks.family import refuse_other_pictures
from proctor.benchmarks.features import Sampler, sample, samplers_of
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.policy import FeatureValue

import_module("pybullet")  # a missing simulator is found when this is imported


class CalvinEnvironment:
    """One lane. See `proctor.benchmarks.contract` for the rules it keeps.

    A subtask is judged from its own beginning: the oracle compares the info at `begin` or `enter_segment`
    with the one after every step. It is not judged before the first step, as upstream does not.
    """

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """Raises `EnvironmentMissing` for a checkout that is missing or at another commit, `BenchmarkFault`
        for pictures that upstream does not make."""
        settings = settings_of(definition)
        refuse_other_pictures(definition, REFERENCE)
        if action.representation not in COMMANDS:
            raise UnknownNameError("action representation of CALVIN", action.representation, COMMANDS)
        self._representation = action.representation
        root = checkouts.require(definition.environment, VARIABLE, settings.commit)
        self._table = PlayTable(root, settings)
        self._samplers = samplers_of("CALVIN", definition.features, self._camera, self._sensors())
        self._segments: tuple[Segment, ...] = ()
        self._active = Segment(task.instruction, task.horizon)
        self._start: Info = {}
        self._closed = False

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Build the start that `settings.start` describes.

        The initial state is float64: upstream's `robot_obs` (15), then `scene_obs` (24), after its reset.
        """
        self._refuse_unknown(episode)
        self._table.start(robot_start(), scene_start(condition_of(episode)), episode.seed)
        self._segments = episode.segments
        self._enter(0)
        state = np.concatenate([self._table.robot_state(), self._table.scene_state()])
        return Reset(sample(self._samplers, observe), state)

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Advance 1/30 s. `action`: (7,) float32. Never terminates by itself: upstream runs to its limit."""
        now = self._table.step(COMMANDS[self._representation](action))
        return StepResult(
            terminated=False,
            success=self._table.achieved(self._active.predicate, self._start, now),
            observation=sample(self._samplers, observe),
        )

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Ask for the next subtask, judged from here."""
        self._enter(number)
        return sample(self._samplers, observe)

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """No change, or the pose as it is now; the gripper as it was last commanded, open at first."""
        if self._representation == RELATIVE:
            return hold_relative(last)
        state = self._table.robot_state()
        return hold_absolute(last, state[:3], self._table.quaternion(state[3:6]))

    def close(self) -> None:
        """Leave Bullet."""
        if not self._closed:
            self._closed = True
            self._table.close()

    def _enter(self, number: int) -> None:
        self._active = self._segments[number]
        self._start = self._table.info()

    def _refuse_unknown(self, episode: Episode) -> None:
        for segment in episode.segments:
            if segment.predicate not in self._table.subtasks:
                what = f"predicate of episode {episode.id}:"
                raise BenchmarkFault(str(UnknownNameError(what, segment.predicate, self._table.subtasks)))

    def _camera(self, feature: FeatureDefinition) -> Sampler:
        camera = feature.camera or ""
        if camera not in self._table.cameras:
            raise UnknownNameError(f"camera of feature {feature.name}:", camera, self._table.cameras)
        return lambda: self._table.render(camera)

    def _sensors(self) -> dict[str, Sampler]:
        table = self._table
        return {
            "state.proprioception": lambda: table.robot_state().astype(np.float32),
            "privileged.scene": lambda: table.scene_state().astype(np.float32),
            "language.instruction": lambda: self._active.instruction,
        }
