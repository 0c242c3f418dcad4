"""One Meta-World lane: upstream's goal-observable class of a task, seeded per episode."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE
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
from proctor.benchmarks.metaworld.cameras import Cameras
from proctor.benchmarks.metaworld.pristine import Pristine
from proctor.benchmarks.metaworld.settings import episode_settings_of
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.policy import FeatureValue

CLASS_SUFFIX: Final = "-goal-observable"
"""What upstream's dictionary appends to a task's name. Its plain classes put zeros where the goal belongs."""

REPRESENTATION: Final = "metaworld.delta-eef-v1"

PROPRIOCEPTION: Final = 4
"""Leading values of upstream's observation that are the robot's: hand position 3 (m), gripper opening 1."""

GRIPPER_OPEN: Final = -1.0
"""Gripper command of upstream's own reset."""

METRICS: Final = ("obj_to_target", "near_object", "grasp_success", "in_place_reward", "unscaled_reward")
"""Values of upstream's info that are kept as metrics."""


class MetaworldEnvironment:
    """One lane. See `proctor.benchmarks.contract` for the rules it keeps.

    Observations are upstream's own, including that some tasks move their object after the last forward pass
    of a reset, so that the first observation shows it where it stood a moment before.
    """

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """`action` is the only one there is: upstream's own. Raises `UnknownNameError` for another, and for a
        task, camera or feature that upstream does not have."""
        if action.representation != REPRESENTATION:
            raise UnknownNameError(
                "action representation of Meta-World", action.representation, [REPRESENTATION]
            )
        self._upstream = _make_upstream(task.id)
        self._cameras = Cameras(self._upstream.model, definition)
        self._pristine = Pristine(self._upstream)
        self._samplers = samplers_of("Meta-World", definition.features, self._camera, self._sensors())
        self._segments: tuple[Segment, ...] = ()
        self._instruction = task.instruction
        self._observation: NDArray[np.float64] = np.zeros(0)
        self._closed = False

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Build the start that belongs to `episode.seed`, or to the random vector that the episode names.

        The initial state is float64: qpos, then qvel, then upstream's random vector, which places objects and
        goal. Success is not judged before the first step, as upstream does not.
        """
        refuse_predicates(episode)
        vector = episode_settings_of(episode).random_vector
        upstream = self._upstream
        self._pristine.restore()
        self._segments = episode.segments
        self._instruction = episode.segments[0].instruction
        upstream.seeded_rand_vec, upstream._freeze_rand_vec = True, False
        upstream.seed(episode.seed)
        if vector is not None:
            self._place(episode, vector)
        self._observation, _ = upstream.reset()
        state = [upstream.data.qpos, upstream.data.qvel, upstream._last_rand_vec]
        return Reset(sample(self._samplers, observe), np.concatenate(state, dtype=np.float64))

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Advance 0.0125 s. `action`: (4,) hand displacement xyz (1 = 0.01 m), gripper (-1 open, 1 closed).

        Never terminates by itself: upstream runs to its step limit.
        """
        self._observation, _, _, _, info = self._upstream.step(action)
        return StepResult(
            terminated=False,
            success=bool(info["success"]),
            observation=sample(self._samplers, observe),
            metrics={name: float(info[name]) for name in METRICS},
        )

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Say the next instruction; the goal is the task's in every segment."""
        self._instruction = self._segments[number].instruction
        return sample(self._samplers, observe)

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """No displacement, the gripper as it was last commanded; open before the first action."""
        hold = np.zeros(4, np.float32)
        hold[3] = GRIPPER_OPEN if last is None else last[3]
        return hold

    def close(self) -> None:
        """Free the render context."""
        if not self._closed:
            self._closed = True
            self._cameras.close()
            self._upstream.close()

    def _place(self, episode: Episode, vector: tuple[float, ...]) -> None:
        """Have the next reset use this random vector, as upstream's `set_task` does."""
        needed = self._upstream._random_reset_space.low.size
        if len(vector) != needed:
            raise BenchmarkFault(
                f"episode {episode.id}, settings: random_vector has {len(vector)} values; valid: {needed}"
            )
        self._upstream._freeze_rand_vec = True
        self._upstream._last_rand_vec = np.array(vector)

    def _camera(self, feature: FeatureDefinition) -> Sampler:
        return lambda: self._cameras.picture(self._upstream.data, feature.name)

    def _sensors(self) -> dict[str, Sampler]:
        return {
            "state.proprioception": lambda: self._observation[:PROPRIOCEPTION].astype(np.float32),
            "privileged.state": lambda: self._observation.astype(np.float32),
            "language.instruction": lambda: self._instruction,
        }


def _make_upstream(task: str) -> Any:
    name = task + CLASS_SUFFIX
    if name not in ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE:
        known = [key.removesuffix(CLASS_SUFFIX) for key in ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE]
        raise UnknownNameError("Meta-World task", task, known)
    # The constructor resets once; without a seed that draws from numpy's global generator.
    return ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE[name](seed=0)
