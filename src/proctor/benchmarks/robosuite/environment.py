"""One robosuite lane: an environment of its own for every start, and frames made when they are asked for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.actions.rotations import robosuite_axis_angle
from proctor.benchmarks.contract import Episode, Reset, Segment, StepResult
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    FeatureDefinition,
    TaskDefinition,
)
from proctor.benchmarks.family import refuse_predicates
from proctor.benchmarks.features import Sampler, refuse_unknown, sample, samplers_of
from proctor.benchmarks.mujoco_frames import ROBOSUITE_VIEW, Frames
from proctor.benchmarks.robosuite.settings import POSES, settings_of, task_settings_of
from proctor.benchmarks.robosuite.upstream import Upstream
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.policy import FeatureValue

ROBOTS: Final = {"robosuite.delta-eef-v1": 1, "robosuite.two-arm-delta-eef-v1": 2}
"""How many an action is for, by representation."""

PER_ROBOT: Final = 7
"""Numbers of an action: displacement 3, turn 3, gripper."""

GRIPPER_OPEN: Final = -1.0


class RobosuiteEnvironment:
    """One lane. See `proctor.benchmarks.contract` for the rules it keeps.

    What is observed after a step was measured at upstream's own moment (`proctor.benchmarks.
    robosuite_sensors`). Its render context is its own: nothing of upstream's ever makes or frees one.
    """

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """`action` is the only one there is for so many robots: upstream's own.

        Raises `UnknownNameError` for another, and for a task, camera, feature or pose that upstream does not
        have; `BenchmarkFault` for an action of another length.
        """
        self._settings, self._task = settings_of(definition), task_settings_of(task)
        _refuse_other_representations(action, len(self._settings.robots))
        self._control_hz = definition.control_hz
        self._observe: Collection[str] = ()
        self._sampled: dict[str, FeatureValue] = {}
        self._segments: tuple[Segment, ...] = ()
        self._instruction = task.instruction
        self._samplers = samplers_of("robosuite", definition.features, self._camera, self._sensors())
        self._upstream = self._make(seed=0)
        _refuse_other_length(task, action, self._upstream.action_dimension)
        for name in self._task.poses:
            self._upstream.require_named(name)
        self._frames = Frames(self._upstream.model, definition.features, definition.render, ROBOSUITE_VIEW)

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Go to the start that upstream has for `episode.seed`.

        The initial state is the simulator's qpos, then per thing of the task position, quaternion wxyz and
        mass of its model, rounded to 1e-6; velocities are zero. Success is not judged before the first step,
        as upstream does not. Raises `BenchmarkFault` where upstream finds no start for the seed.
        """
        refuse_predicates(episode)
        if episode.seed < 0:
            raise BenchmarkFault(f"episode {episode.id}: seed {episode.seed}; valid: 0 and above")
        self._segments = episode.segments
        self._instruction = episode.segments[0].instruction
        self._read_next(observe)
        self._upstream.close()
        self._upstream = self._make(episode.seed)
        self._upstream.reset()
        return Reset(self._sampled, self._upstream.start())

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Advance one control step. `action`: (7 per robot,) float32 in [-1, 1]. Never terminates by itself,
        as upstream's horizon is the rollout's."""
        self._read_next(observe)
        success = self._upstream.step(action)
        return StepResult(terminated=False, success=success, observation=self._sampled)

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Say the next instruction; the goal is the task's in every segment."""
        self._instruction = self._segments[number].instruction
        self._read_next(observe)
        self._sample()
        return self._sampled

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """No displacement, grippers as they were last commanded; open before the first action."""
        hold = np.zeros((len(self._settings.robots), PER_ROBOT), np.float32)
        hold[:, -1] = GRIPPER_OPEN if last is None else last.reshape(hold.shape)[:, -1]
        return hold.reshape(-1)

    def close(self) -> None:
        """Free the render context and the simulation."""
        self._frames.close()
        self._upstream.close()

    def _make(self, seed: int) -> Upstream:
        return Upstream(self._settings, self._task, self._control_hz, seed, self._sample)

    def _read_next(self, names: Collection[str]) -> None:
        """What to read at the next moment at which upstream reads."""
        refuse_unknown(names, self._samplers)
        self._observe, self._sampled = tuple(names), {}

    def _sample(self) -> None:
        self._sampled = sample(self._samplers, self._observe)

    def _camera(self, feature: FeatureDefinition) -> Sampler:
        return lambda: self._frame(feature.name)

    def _frame(self, name: str) -> FeatureValue:
        self._frames.show(self._upstream.model)
        return self._frames.render(self._upstream.data, name)

    def _sensors(self) -> dict[str, Sampler]:
        return {
            "state.proprioception": self._proprioception,
            "state.eef_quaternion": self._eef_quaternion,
            "state.eef_axis_angle": self._eef_axis_angle,
            "privileged.poses": self._poses,
            "language.instruction": lambda: self._instruction,
        }

    def _proprioception(self) -> NDArray[np.float32]:
        upstream = self._upstream
        robots = zip(upstream.hand_poses(), upstream.fingers(), upstream.joints(), strict=True)
        values = [np.concatenate([*pose, fingers, joints]) for pose, fingers, joints in robots]
        return np.concatenate(values, dtype=np.float32)

    def _eef_quaternion(self) -> NDArray[np.float32]:
        robots = zip(self._upstream.hand_poses(), self._upstream.fingers(), strict=True)
        return np.concatenate(
            [np.concatenate([*pose, fingers]) for pose, fingers in robots], dtype=np.float32
        )

    def _eef_axis_angle(self) -> NDArray[np.float32]:
        robots = zip(self._upstream.hand_poses(), self._upstream.fingers(), strict=True)
        values = [
            np.concatenate([position, robosuite_axis_angle(quaternion), fingers])
            for (position, quaternion), fingers in robots
        ]
        return np.concatenate(values, dtype=np.float32)

    def _poses(self) -> NDArray[np.float32]:
        poses = np.zeros((POSES, 7), np.float32)
        for row, name in enumerate(self._task.poses):
            poses[row] = np.concatenate(self._upstream.pose_of(name))
        return poses


def _refuse_other_representations(action: ActionDefinition, robots: int) -> None:
    known = [name for name, count in ROBOTS.items() if count == robots]
    if action.representation not in known:
        raise UnknownNameError(
            f"action representation of robosuite with {robots} robots", action.representation, known
        )


def _refuse_other_length(task: TaskDefinition, action: ActionDefinition, dimension: int) -> None:
    if action.dimension != dimension:
        raise BenchmarkFault(
            f"task {task.id}: robosuite takes {dimension} numbers, {action.representation} has "
            f"{action.dimension}"
        )
