"""The twenty numbers of X-VLA's two-arm end-effector space, as state and as action.

    per arm 10, left first: x y z (m, world), six of the rotation (interleaved), gripper

The gripper of a state is 1 − 2·opening: −1 open, +1 closed. The gripper of an action closes above 0.7, and
opens otherwise. An action is an absolute target.

Two conventions share this layout. In `PHYSICAL` the six numbers are the first two columns of the end
effector's rotation matrix. In `LEGACY` they are those of another matrix: the one that a quaternion routine
makes that expects xyzw and is handed wxyz. The checkpoint released for RoboTwin was trained on those, and
its answers need the same detour back. Reading one as the other turns a target by 150 degrees at the median,
and no number says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.actions import grippers
from proctor.actions.kinematics import Pose
from proctor.actions.rot6d import Rot6d, interleaved_from_matrix, matrix_from_interleaved
from proctor.actions.rotations import (
    Matrix,
    matrix_from_wxyz,
    wxyz_from_matrix,
    wxyz_from_xyzw,
    xyzw_from_wxyz,
)
from proctor.errors import InvalidActionError

SIZE: Final = 20
"""Numbers of both arms."""
ARM: Final = 10
"""Numbers of one."""


@dataclass(frozen=True)
class Convention:
    """How a rotation becomes six numbers, and back."""

    representation: str
    """Name of the action representation whose numbers these are."""
    name: str
    encode: Callable[[Matrix], Rot6d]
    decode: Callable[[ArrayLike], Matrix]
    """Raises ValueError for numbers that are no rotation."""


class ArmState(NamedTuple):
    """Where one arm is."""

    pose: Pose
    opening: float
    """0 closed, 1 open."""


class ArmTarget(NamedTuple):
    """Where one arm is to be."""

    pose: Pose
    closes: bool


def pack_state(left: ArmState, right: ArmState, convention: Convention) -> NDArray[np.float64]:
    """(20,): both arms as a policy sees them."""
    arms = [_pack(arm.pose, grippers.closing_signal(arm.opening), convention) for arm in (left, right)]
    return np.concatenate(arms)


def unpack_state(values: ArrayLike, convention: Convention) -> tuple[ArmState, ArmState]:
    """Inverse of `pack_state`. Raises ValueError for six numbers that are no rotation."""
    left, right = _arms(values)
    return _state(left, convention), _state(right, convention)


def pack_action(left: ArmTarget, right: ArmTarget, convention: Convention) -> NDArray[np.float64]:
    """(20,): targets as a policy answers them; a gripper is 1 to close and 0 to open."""
    return np.concatenate([_pack(arm.pose, float(arm.closes), convention) for arm in (left, right)])


def unpack_action(values: ArrayLike, convention: Convention) -> tuple[ArmTarget, ArmTarget]:
    """Targets of the left and the right arm.

    Raises `InvalidActionError` naming the arm whose six numbers are no rotation.
    """
    left, right = _arms(values)
    return _target("left", left, convention), _target("right", right, convention)


def _arms(values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (SIZE,):
        raise ValueError(f"two arms have ({SIZE},) numbers here, got {numbers.shape}")
    return numbers[:ARM], numbers[ARM:]


def _pack(pose: Pose, gripper: float, convention: Convention) -> NDArray[np.float64]:
    return np.concatenate([pose.position, convention.encode(pose.rotation), [gripper]])


def _pose(numbers: NDArray[np.float64], convention: Convention) -> Pose:
    return Pose(numbers[:3], convention.decode(numbers[3:9]))


def _state(numbers: NDArray[np.float64], convention: Convention) -> ArmState:
    return ArmState(_pose(numbers, convention), grippers.opening_of_closing_signal(float(numbers[9])))


def _target(side: str, numbers: NDArray[np.float64], convention: Convention) -> ArmTarget:
    try:
        pose = _pose(numbers, convention)
    except ValueError as error:
        raise InvalidActionError(f"{convention.representation}: {side} arm: {error}") from None
    return ArmTarget(pose, grippers.xvla_closes(float(numbers[9])))


def _legacy_from_matrix(matrix: Matrix) -> Rot6d:
    return interleaved_from_matrix(matrix_from_wxyz(wxyz_from_xyzw(wxyz_from_matrix(matrix))))


def _matrix_from_legacy(values: ArrayLike) -> Matrix:
    return matrix_from_wxyz(xyzw_from_wxyz(wxyz_from_matrix(matrix_from_interleaved(values))))


PHYSICAL: Final = Convention(
    "xvla_ee_rot6d_20", "interleaved_true_wxyz", interleaved_from_matrix, matrix_from_interleaved
)
LEGACY: Final = Convention(
    "xvla_ee_rot6d_20_legacy", "interleaved_wxyz_as_xyzw", _legacy_from_matrix, _matrix_from_legacy
)

CONVENTIONS: Final[Mapping[str, Convention]] = MappingProxyType(
    {each.representation: each for each in (PHYSICAL, LEGACY)}
)
"""By representation."""
