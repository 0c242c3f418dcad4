"""From an action to the fourteen joint targets that gym-aloha takes, in each representation of the benchmark.

End-effector targets become joint targets by following them from the targets of the step before, first from
the joints an episode starts with. The end effector is the point between the finger pads, `vx300s.GRIP_M`
ahead of the gripper link, its axes those of the link: x along the gripper. Poses are in the world frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from proctor.actions.differential_ik import VERSION, ArmStep, follow
from proctor.actions.robots import vx300s
from proctor.actions.xvla_ee import (
    CONVENTIONS,
    ArmState,
    ArmTarget,
    Convention,
    pack_action,
    pack_state,
    unpack_action,
)
from proctor.errors import BenchmarkFault, UnknownNameError

JOINT_ABS: Final = "joint_abs_14"

ARMS: Final = (vx300s.arm("left"), vx300s.arm("right"))
SIDES: Final = ("left", "right")
LEFT, RIGHT = slice(0, 6), slice(7, 13)
LEFT_GRIPPER, RIGHT_GRIPPER = 6, 13
HALF_OPEN: Final = 0.5


class Command(NamedTuple):
    """What one action asks of the simulator."""

    joints: NDArray[Any]
    """(14,) joint targets, grippers as openings."""
    events: tuple[str, ...] = ()
    metrics: Mapping[str, float] = {}


class Commands(Protocol):
    """One representation, over one episode after another."""

    def start(self, joints: NDArray[np.float64]) -> None:
        """Begin an episode at measured `joints` (14,); nothing is remembered of what was before."""
        ...

    def command(self, action: NDArray[Any]) -> Command:
        """Turn the next action into joint targets."""
        ...

    def holding(self, joints: NDArray[np.float64]) -> NDArray[Any]:
        """The action that keeps the robot at measured `joints` (14,)."""
        ...


def commands_for(representation: str, inverse_kinematics: object) -> Commands:
    """How actions of a representation are carried out, with the `inverse_kinematics` a version names.

    Raises `UnknownNameError` for another representation, `BenchmarkFault` for other inverse kinematics.
    """
    if representation == JOINT_ABS:
        return JointCommands()
    if representation in CONVENTIONS:
        if inverse_kinematics != VERSION:
            raise BenchmarkFault(
                f"settings.inverse_kinematics {inverse_kinematics!r}: this proctor has {VERSION!r}"
            )
        return EndEffectorCommands(CONVENTIONS[representation])
    raise UnknownNameError("action representation of gym-aloha", representation, (JOINT_ABS, *CONVENTIONS))


class JointCommands:
    """`joint_abs_14`: the action as it is, bit for bit."""

    def start(self, joints: NDArray[np.float64]) -> None:
        """Nothing depends on the start."""

    def command(self, action: NDArray[Any]) -> Command:
        """No events, no metrics."""
        return Command(action)

    def holding(self, joints: NDArray[np.float64]) -> NDArray[Any]:
        """The joints themselves."""
        return joints.astype(np.float32)


class EndEffectorCommands:
    """`xvla_ee_rot6d_20` and its legacy convention.

    Metrics, over the episode so far: `ik_residual_mm` and `ik_residual_deg`, the largest distance and angle
    that an arm's pose was away from its target, and `ik_failed`, the control steps in which that was beyond
    tolerance for one of them. Each such step and arm is an event as well.
    """

    def __init__(self, convention: Convention) -> None:
        self._convention = convention
        self._joints: tuple[NDArray[np.float64], ...] = ()
        self._residual_m = self._residual_rad = 0.0
        self._failed = 0

    def start(self, joints: NDArray[np.float64]) -> None:
        """Follow from here."""
        self._joints = (joints[LEFT], joints[RIGHT])
        self._residual_m = self._residual_rad = 0.0
        self._failed = 0

    def command(self, action: NDArray[Any]) -> Command:
        """An arm whose target is out of reach goes to the nearest pose found; its gripper moves all the same.

        Raises `InvalidActionError` for six numbers that are no rotation.
        """
        targets = unpack_action(action, self._convention)
        steps = follow(ARMS, [target.pose for target in targets], self._joints, vx300s.POSTURES)
        self._joints = tuple(step.joints for step in steps)
        events = tuple(
            f"unreachable pose: {side} arm"
            for side, step in zip(SIDES, steps, strict=True)
            if not step.reached
        )
        self._count(steps)
        return Command(_joint_targets(steps, targets), events, self._metrics())

    def holding(self, joints: NDArray[np.float64]) -> NDArray[Any]:
        """The pose that the joints give; of a gripper's two commands the one that is nearer."""
        left, right = (ArmTarget(arm.pose, arm.opening < HALF_OPEN) for arm in arm_states(joints))
        return pack_action(left, right, self._convention).astype(np.float32)

    def _count(self, steps: tuple[ArmStep, ...]) -> None:
        self._residual_m = max(self._residual_m, *(step.residual_m for step in steps))
        self._residual_rad = max(self._residual_rad, *(step.residual_rad for step in steps))
        self._failed += not all(step.reached for step in steps)

    def _metrics(self) -> Mapping[str, float]:
        return {
            "ik_residual_mm": 1000 * self._residual_m,
            "ik_residual_deg": float(np.degrees(self._residual_rad)),
            "ik_failed": float(self._failed),
        }


def arm_states(joints: NDArray[np.float64]) -> tuple[ArmState, ArmState]:
    """Where both end effectors are at `joints` (14,), and how open their grippers."""
    return (
        ArmState(ARMS[0].forward(joints[LEFT]), float(joints[LEFT_GRIPPER])),
        ArmState(ARMS[1].forward(joints[RIGHT]), float(joints[RIGHT_GRIPPER])),
    )


def end_effector_state(joints: NDArray[np.float64], convention: Convention) -> NDArray[np.float32]:
    """(20,): both arms at measured `joints` (14,) in the layout of `proctor.actions.xvla_ee`."""
    return pack_state(*arm_states(joints), convention).astype(np.float32)


def _joint_targets(steps: tuple[ArmStep, ...], targets: tuple[ArmTarget, ...]) -> NDArray[np.float64]:
    return np.concatenate(
        [(*step.joints, float(not target.closes)) for step, target in zip(steps, targets, strict=True)]
    )
