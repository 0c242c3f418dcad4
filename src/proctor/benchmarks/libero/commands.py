"""The two meanings of an action, and what each says while the robot waits.

Upstream's controller moves by an action or goes to it. An evaluation that goes to targets still settles with
the former: at rest, a target of zeros is far away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.actions.rotations import Matrix, Vector, rotation_vector_from_matrix

DELTA: Final = "libero.delta-eef-v1"
ABSOLUTE: Final = "libero.absolute-eef-v1"

OPENS: Final = -1.0

SETTLING: Final = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, OPENS)
"""What upstream's loop does while objects fall into place: nothing, with the gripper open."""


def delta(action: NDArray[Any]) -> NDArray[np.float64]:
    """(7,): the action's own numbers, as a script hands them over that makes a list of them."""
    return np.asarray(action, np.float64)


def absolute(action: NDArray[Any]) -> NDArray[np.float32]:
    """(7,): single precision, as X-VLA's client hands it over. Upstream turns an angle into a quaternion in
    the precision that it gets."""
    return np.asarray(action, np.float32)


COMMANDS: Final[Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]]] = MappingProxyType(
    {DELTA: delta, ABSOLUTE: absolute}
)
"""What upstream's step takes, by representation."""


def hold_delta(last: NDArray[Any] | None) -> NDArray[np.float32]:
    """No displacement; the gripper as it was last commanded, open before the first action."""
    hold = np.asarray(SETTLING, np.float32)
    if last is not None:
        hold[6] = last[6]
    return hold


def hold_absolute(last: NDArray[Any] | None, position: Vector, orientation: Matrix) -> NDArray[np.float32]:
    """The last target; before the first action where the controller is, the gripper open."""
    if last is not None:
        return np.array(last, np.float32)
    turn = rotation_vector_from_matrix(orientation)
    return np.concatenate([position, turn, [OPENS]]).astype(np.float32)
