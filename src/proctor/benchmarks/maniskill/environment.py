"""One ManiSkill lane."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

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
from proctor.benchmarks.maniskill.settings import REFERENCE, task_settings_of
from proctor.benchmarks.maniskill.upstream import Upstream
from proctor.errors import UnknownNameError
from proctor.policy import FeatureValue

DELTA_POSE: Final = "maniskill.pd-ee-delta-pose-v1"
JOINTS: Final = "maniskill.pd-joint-pos-v1"
CONTROL_MODES: Final = {DELTA_POSE: "pd_ee_delta_pose", JOINTS: "pd_joint_pos"}
"""Upstream's name for what each representation commands."""

OPENS: Final = 1.0


class ManiSkillEnvironment:
    """One lane. See `proctor.benchmarks.contract` for the rules it keeps."""

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """Raises `BenchmarkFault` for a task or pictures that this family does not make, `EnvironmentMissing`
        where there is no Vulkan device."""
        if action.representation not in CONTROL_MODES:
            raise UnknownNameError("action representation of ManiSkill", action.representation, CONTROL_MODES)
        settings = task_settings_of(task)
        refuse_other_pictures(definition, REFERENCE)
        self._representation = action.representation
        self._upstream = Upstream(settings, CONTROL_MODES[action.representation])
        self._seed = 0
        self._segments: tuple[Segment, ...] = ()
        self._instruction = task.instruction
        self._samplers = samplers_of("ManiSkill", definition.features, self._camera, self._sensors())
        self._closed = False

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Build the start that belongs to `episode.seed`.

        The initial state is upstream's: position, quaternion, velocities (13) of every actor and of the
        robot's base, then its joints and their velocities; then sizes that the seed decided, if any.
        """
        refuse_predicates(episode)
        refuse_unknown(observe, self._samplers)
        self._seed, self._segments = episode.seed, episode.segments
        self._instruction = episode.segments[0].instruction
        start = self._upstream.begin(episode.seed)
        return Reset(sample(self._samplers, observe), start, self._upstream.success())

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Advance 0.05 s. Never terminates by itself: upstream ends an episode at success or at its limit."""
        refuse_unknown(observe, self._samplers)
        self._upstream.step(action)
        return StepResult(
            terminated=False,
            success=self._upstream.success(),
            observation=sample(self._samplers, observe),
        )

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Say the next instruction; the goal is the task's in every segment."""
        self._instruction = self._segments[number].instruction
        return sample(self._samplers, observe)

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """No displacement, or the last targets, at first the joints as they are; the gripper as it was last
        commanded, open before the first action."""
        if self._representation == JOINTS:
            return _float32(self._upstream.joints()[:7], OPENS) if last is None else last.copy()
        return _float32(np.zeros(6), OPENS if last is None else last[-1])

    @property
    def drawn_by(self) -> str:
        """See `proctor.benchmarks.contract.DrawsItself`."""
        return self._upstream.drawn_by

    def close(self) -> None:
        """Release the simulation."""
        if not self._closed:
            self._closed = True
            self._upstream.close()

    def _camera(self, feature: FeatureDefinition) -> Sampler:
        camera = feature.camera or ""
        if camera not in self._upstream.cameras:
            raise UnknownNameError(f"camera of feature {feature.name}:", camera, self._upstream.cameras)
        return lambda: self._upstream.render(camera)

    def _sensors(self) -> dict[str, Sampler]:
        upstream = self._upstream
        return {
            "state.joints": upstream.joints,
            "state.joint_velocities": upstream.joint_velocities,
            "state.tcp_pose": upstream.tool,
            "state.goal_position": upstream.goal,
            "state.is_grasped": upstream.grasped,
            "privileged.seed": lambda: np.array([self._seed], np.int64),
            "language.instruction": lambda: self._instruction,
        }


def _float32(arm: NDArray[Any], gripper: float) -> NDArray[np.float32]:
    return np.append(arm, gripper).astype(np.float32)
