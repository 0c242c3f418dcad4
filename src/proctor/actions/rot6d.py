"""A rotation as six numbers: two axes of its matrix, in one of three orders.

    interleaved   r00 r01 r10 r11 r20 r21   the first two columns, row by row   X-VLA on RoboTwin and CALVIN
    columns       r00 r10 r20 r01 r11 r21   column 0, then column 1             X-VLA on LIBERO
    rows          r00 r01 r02 r10 r11 r12   row 0, then row 1

Reading one order as another turns most rotations by about 90 degrees and raises no error. Decoding makes the
two perpendicular (Gram-Schmidt): the first keeps its direction, the second what is across it. Decoders raise
ValueError for six numbers that give no two axes.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.actions.rotations import Matrix

LEAST_LENGTH: Final = 1e-8
"""Length under which an axis has no direction; of a long second axis, the share that must be across."""

Rot6d = NDArray[np.float64]
"""(6,) float64."""


def interleaved_from_matrix(matrix: Matrix) -> Rot6d:
    """The first two columns, row by row."""
    return np.asarray(matrix, dtype=np.float64)[:, :2].ravel()


def matrix_from_interleaved(values: ArrayLike) -> Matrix:
    """Inverse of `interleaved_from_matrix`."""
    a0, b0, a1, b1, a2, b2 = _six(values)
    return _orthogonal((a0, a1, a2), (b0, b1, b2))


def columns_from_matrix(matrix: Matrix) -> Rot6d:
    """The first column, then the second."""
    return np.asarray(matrix, dtype=np.float64)[:, :2].T.ravel()


def matrix_from_columns(values: ArrayLike) -> Matrix:
    """Inverse of `columns_from_matrix`."""
    a0, a1, a2, b0, b1, b2 = _six(values)
    return _orthogonal((a0, a1, a2), (b0, b1, b2))


def rows_from_matrix(matrix: Matrix) -> Rot6d:
    """The first row, then the second."""
    return np.asarray(matrix, dtype=np.float64)[:2].ravel()


def matrix_from_rows(values: ArrayLike) -> Matrix:
    """Inverse of `rows_from_matrix`."""
    return matrix_from_columns(values).T


_Axis = tuple[float, float, float]


def _six(values: ArrayLike) -> list[float]:
    numbers: list[float] = np.asarray(values, dtype=np.float64).tolist()
    if len(numbers) != 6:
        raise ValueError(f"a rotation has 6 numbers here, got {len(numbers)}")
    return numbers


def _orthogonal(first: _Axis, second: _Axis) -> Matrix:
    """The matrix whose first two columns span what `first` and `second` do."""
    ax, ay, az = _unit(first, LEAST_LENGTH)
    bx, by, bz = second
    along = ax * bx + ay * by + az * bz
    across = (bx - along * ax, by - along * ay, bz - along * az)
    bx, by, bz = _unit(across, LEAST_LENGTH * max(1.0, math.hypot(*second)))
    return np.array([[ax, bx, ay * bz - az * by], [ay, by, az * bx - ax * bz], [az, bz, ax * by - ay * bx]])


def _unit(axis: _Axis, least: float) -> _Axis:
    x, y, z = axis
    length = math.hypot(x, y, z)
    # Written so that NaN fails too.
    if not least <= length < math.inf:
        raise ValueError("not a rotation: the six numbers give no two perpendicular axes")
    return x / length, y / length, z / length
