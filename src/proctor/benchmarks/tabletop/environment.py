"""One tabletop lane: a task's scene, driven by joint velocities, judged by the goal in its data."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import mujoco
import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks.contract import Episode, Reset, Segment, StepResult
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    FeatureDefinition,
    TaskDefinition,
)
from proctor.benchmarks.family import refuse_predicates
from proctor.benchmarks.features import Sampler, sample, samplers_of
from proctor.benchmarks.mujoco_frames import Frames
from proctor.benchmarks.tabletop import starts
from proctor.benchmarks.tabletop.scene import Scene
from proctor.benchmarks.tabletop.settings import MAX_THINGS, read_settings, read_task
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.policy import FeatureValue

REPRESENTATION: Final = "panda.joint-velocity-v1"
"""The only meaning an action has here: joint velocities and the gripper's closedness."""

JOINT_LIMIT: Final = "joint-limit"
"""Event of a step in which a commanded velocity was reduced at a joint's limit."""

DIVERGED: Final = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


class TabletopEnvironment:
    """One lane. See `proctor.benchmarks.contract` for the rules it keeps."""

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """Raise `BenchmarkFault` for another robot than the definition's, `UsageError` for settings that make
        no scene."""
        if action.representation != REPRESENTATION:
            raise UnknownNameError("action of tabletop", action.representation, [REPRESENTATION])
        settings = read_settings(definition)
        self._task = read_task(settings, task)
        self._scene = Scene(definition, settings, self._task)
        self._substeps = settings.physics.substeps
        self._frames = Frames(self._scene.model, definition.features, definition.render)
        self._samplers = samplers_of("tabletop", definition.features, self._camera, self._sensors())
        self._segments: tuple[Segment, ...] = ()
        self._instruction = task.instruction
        self._reached: dict[str, float] = {}
        self._limited = 0
        self._fastest = 0.0

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Build the start that belongs to `episode.seed`; see `starts.begin` for the initial state."""
        refuse_predicates(episode)
        self._segments = episode.segments
        self._instruction = episode.segments[0].instruction
        self._reached = {f"stage.{stage.name}": 0.0 for stage in self._task.stages}
        self._limited, self._fastest = 0, 0.0
        start = starts.begin(self._scene, episode)
        return Reset(sample(self._samplers, observe), start, self._task.goal.holds(self._scene))

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Advance one control step. `action`: (8,) joint velocities rad/s, gripper closedness 0..1.

        Never terminates by itself. Metrics: `stage.<name>` 1 once that stage, or the goal, was reached,
        `progress` the part reached of all stages and the goal, which counts while it holds, `limited_steps`
        control steps with a velocity reduced at a joint's limit (an event too), `peak_joint_speed` the
        fastest a joint has been at the end of a control step, rad/s.
        Raises `BenchmarkFault` when the physics diverges.
        """
        scene = self._scene
        limited = scene.arm.command(scene.data, action) > 0
        for _ in range(self._substeps):
            mujoco.mj_step(scene.model, scene.data)
        mujoco.mj_forward(scene.model, scene.data)
        self._refuse_divergence()
        self._limited += limited
        self._fastest = max(self._fastest, float(np.abs(scene.arm.speeds(scene.data)).max()))
        success = self._task.goal.holds(scene)
        return StepResult(
            terminated=False,
            success=success,
            observation=sample(self._samplers, observe),
            events=(JOINT_LIMIT,) if limited else (),
            metrics=self._measure(success),
        )

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Say the next instruction; the goal is the task's in every segment."""
        self._instruction = self._segments[number].instruction
        return sample(self._samplers, observe)

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """No velocity, the gripper as it was last commanded; open before the first action."""
        hold = np.zeros(8, np.float32)
        hold[7] = 0.0 if last is None else last[7]
        return hold

    def close(self) -> None:
        """Free the render context."""
        self._frames.close()

    def _measure(self, success: bool) -> dict[str, float]:
        for stage in self._task.stages:
            key = f"stage.{stage.name}"
            if not self._reached[key] and (success or stage.goal.holds(self._scene)):
                self._reached[key] = 1.0
        done = sum(self._reached.values()) + success
        return {
            **self._reached,
            "progress": done / (len(self._reached) + 1),
            "limited_steps": float(self._limited),
            "peak_joint_speed": self._fastest,
        }

    def _refuse_divergence(self) -> None:
        # MuJoCo puts a state that is not a number, or enormous, back to its default, and says so only here.
        for warning in DIVERGED:
            if self._scene.data.warning[warning].number:
                raise BenchmarkFault(f"tabletop: the physics diverged ({warning.name})")

    def _camera(self, feature: FeatureDefinition) -> Sampler:
        return lambda: self._frames.render(self._scene.data, feature.name)

    def _sensors(self) -> dict[str, Sampler]:
        arm, data = self._scene.arm, self._scene.data
        return {
            "state.joints_gripper": lambda: np.array([*arm.joints(data), arm.closedness(data)], np.float32),
            "state.joint_position": lambda: arm.joints(data).astype(np.float32),
            "state.gripper_position": lambda: np.array([arm.closedness(data)], np.float32),
            "privileged.scene": self._entities,
            "language.instruction": lambda: self._instruction,
        }

    def _entities(self) -> FeatureValue:
        rows = np.zeros((MAX_THINGS, 8), np.float32)
        quaternion = np.zeros(4)
        for row, name in zip(rows, self._scene.things, strict=False):
            position, rotation = self._scene.pose(name)
            mujoco.mju_mat2Quat(quaternion, rotation.ravel())
            row[:3], row[3:7], row[7] = position, quaternion, self._scene.joint(name)
        return rows
