"""What lanes of LIBERO and of LIBERO-plus share: settling, actions, and what is read at which moment."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.actions.rot6d import columns_from_matrix
from proctor.actions.rotations import robosuite_axis_angle
from proctor.benchmarks.contract import Episode, Reset, Segment, StepResult
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, FeatureDefinition
from proctor.benchmarks.features import Sampler, refuse_unknown, sample, samplers_of
from proctor.benchmarks.libero.commands import (
    ABSOLUTE,
    COMMANDS,
    SETTLING,
    hold_absolute,
    hold_delta,
)
from proctor.benchmarks.libero.upstream import Upstream
from proctor.benchmarks.mujoco_frames import ROBOSUITE_VIEW, Frames
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.policy import FeatureValue

INTEREST: Final = 4
"""Poses in `privileged.objects_of_interest`; no scene names more."""

XVLA_STATE: Final = 20
"""Numbers of X-VLA's state: two arms, of which LIBERO has one; a gripper is never told."""

AFTER_THE_STEP: Final = ("state.ee_rot6d_columns",)
"""Not measured by a sensor: X-VLA's client asks the controller, between two steps."""

_open_lanes: set[Lane] = set()


class Lane:
    """One lane. See `proctor.benchmarks.contract` for the rules it keeps; `begin` is the family's.

    What is observed after a step was measured at upstream's own moment, a little before the step's end
    (`proctor.benchmarks.robosuite_sensors`), but for what nothing measures (`AFTER_THE_STEP`).

    A process holds one lane, and a second is refused while the first is open: upstream draws from numpy's
    global generator, and of two render contexts one would give wrong frames without an error.
    """

    _upstream: Upstream
    _frames: Frames
    _interest: tuple[str, ...] = ()
    """What the goal is about."""

    def __init__(self, definition: BenchmarkDefinition, action: ActionDefinition) -> None:
        """Raises `BenchmarkFault` for a second lane, `UnknownNameError` for another action representation
        than those of `COMMANDS`."""
        self._refuse_a_second()
        if action.representation not in COMMANDS:
            raise UnknownNameError("action representation of LIBERO", action.representation, COMMANDS)
        self._representation = action.representation
        self._features, self._render = definition.features, definition.render
        self._settle_steps = definition.settle_steps
        self._observe: Collection[str] = ()
        self._sampled: dict[str, FeatureValue] = {}
        self._segments: tuple[Segment, ...] = ()
        self._instruction = ""
        self._samplers = samplers_of("LIBERO", definition.features, self._camera, self._sensors())

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Advance 0.05 s. `action`: (7,) float32. Never terminates by itself, as the rollout ends it:
        upstream's loop breaks at success or at its own step limit."""
        success = self._advance(COMMANDS[self._representation](action), observe)
        self._read_after_the_step()
        return StepResult(terminated=False, success=success, observation=self._sampled)

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Say the next instruction; the goal is the task's in every segment.

        What was read at the last step is told again, what was not is read now.
        """
        self._instruction = self._segments[number].instruction
        latest = self._sampled
        self._read_next(observe)
        for name in self._observe:
            value = latest.get(name, "")
            self._sampled[name] = self._samplers[name]() if isinstance(value, str) else value.copy()
        return self._sampled

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """No displacement, or the last target: `commands.hold_delta`, `commands.hold_absolute`."""
        if self._representation == ABSOLUTE:
            return hold_absolute(last, *self._upstream.controlled_pose())
        return hold_delta(last)

    def close(self) -> None:
        """Free the render context and the simulation."""
        if self in _open_lanes:
            _open_lanes.remove(self)  # first: one that does not close must not keep every other from opening
            self._frames.close()
            self._upstream.close()

    def _enter(self, upstream: Upstream) -> None:
        """Go on in this scene; the lane owns it, and has closed the one before."""
        self._refuse_a_second()
        self._upstream = upstream
        self._frames = Frames(upstream.model, self._features, self._render, ROBOSUITE_VIEW)
        _open_lanes.add(self)

    def _refuse_a_second(self) -> None:
        if _open_lanes:
            raise BenchmarkFault("a process holds one LIBERO lane, and one is open: close it first")

    def _start(
        self, episode: Episode, state: NDArray[np.float64], draws: int, observe: Collection[str]
    ) -> Reset:
        """Build a start and let it settle. `draws`: resets of upstream's since it was seeded.

        The initial state is `_state` before settling. Its success is whether the goal held after any settling
        step.
        """
        self._segments = episode.segments
        self._instruction = episode.segments[0].instruction
        self._read_next(observe if self._settle_steps == 0 else ())
        self._reset(state, episode.seed, draws)
        start = self._state()
        success = self._settle(observe)
        if self._representation == ABSOLUTE:
            self._upstream.go_to_targets()
        self._read_after_the_step()
        return Reset(self._sampled, start, success)

    def _state(self) -> NDArray[np.float64]:
        """What defines a start: qpos, then position and quaternion wxyz of every fixture, rounded to 1e-6."""
        return self._upstream.start()

    def _reset(self, state: NDArray[np.float64], seed: int, draws: int) -> None:
        self._upstream.begin(state, seed, draws)

    def _settle(self, observe: Collection[str]) -> bool:
        """Returns whether the goal held after any of the steps."""
        held = False
        for number in range(1, self._settle_steps + 1):
            asked = observe if number == self._settle_steps else ()
            held = self._advance(np.array(SETTLING), asked) or held
        return held

    def _advance(self, command: NDArray[Any], observe: Collection[str]) -> bool:
        """One control step; returns whether the goal holds after it."""
        self._read_next(observe)
        return self._upstream.step(command)

    def _read_next(self, names: Collection[str]) -> None:
        """What to read at the next moment at which upstream reads."""
        refuse_unknown(names, self._samplers)
        self._observe, self._sampled = tuple(names), {}

    def _sample(self) -> None:
        measured = [name for name in self._observe if name not in AFTER_THE_STEP]
        self._sampled = sample(self._samplers, measured)

    def _read_after_the_step(self) -> None:
        asked = [name for name in self._observe if name in AFTER_THE_STEP]
        self._sampled |= sample(self._samplers, asked)

    def _camera(self, feature: FeatureDefinition) -> Sampler:
        return lambda: self._frames.render(self._upstream.data, feature.name)

    def _sensors(self) -> dict[str, Sampler]:
        return {
            "state.proprioception": self._proprioception,
            "state.eef_axis_angle": self._eef_axis_angle,
            "state.ee_rot6d_columns": self._ee_rot6d_columns,
            "privileged.objects_of_interest": self._poses_of_interest,
            "language.instruction": lambda: self._instruction,
        }

    def _proprioception(self) -> NDArray[np.float32]:
        upstream = self._upstream
        return np.concatenate(
            [*upstream.hand_pose(), upstream.fingers(), upstream.joints()], dtype=np.float32
        )

    def _eef_axis_angle(self) -> NDArray[np.float32]:
        position, quaternion = self._upstream.hand_pose()
        values = [position, robosuite_axis_angle(quaternion), self._upstream.fingers()]
        return np.concatenate(values, dtype=np.float32)

    def _ee_rot6d_columns(self) -> NDArray[np.float32]:
        position, orientation = self._upstream.controlled_pose()
        values = np.zeros(XVLA_STATE, np.float32)
        values[:9] = np.concatenate([position, columns_from_matrix(orientation)])
        return values

    def _poses_of_interest(self) -> NDArray[np.float32]:
        poses = np.zeros((INTEREST, 7), np.float32)
        for row, name in enumerate(self._interest[:INTEREST]):
            poses[row] = np.concatenate(self._upstream.pose_of(name))
        return poses
