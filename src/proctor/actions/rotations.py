"""Rotations as matrices, quaternions and rotation vectors.

A matrix is right-handed, its columns the body's axes in the reference frame. A quaternion is named by its
order: `wxyz`. A rotation vector is axis × angle, in radians. Everything is float64.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
"""(3,) float64."""
Matrix = NDArray[np.float64]
"""(3, 3) float64."""

_TINY = 1e-12


def cross_matrix(vector: ArrayLike) -> Matrix:
    """The matrix K with K·u = vector × u."""
    x, y, z = np.asarray(vector, dtype=np.float64).tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def matrix_from_wxyz(quaternion: ArrayLike) -> Matrix:
    """Matrix of a quaternion (4,), which is normalised first.

    Raises ValueError for a quaternion of (nearly) zero length.
    """
    values = np.asarray(quaternion, dtype=np.float64)
    length = float(np.linalg.norm(values))
    if values.shape != (4,) or not length > _TINY:
        raise ValueError(f"not a rotation quaternion: {values.tolist()}")
    w, x, y, z = (values / length).tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def wxyz_from_matrix(matrix: Matrix) -> NDArray[np.float64]:
    """Quaternion (4,) of a matrix, with w >= 0.

    The largest of the four components is found first and the others are divided by it, so that no angle
    loses precision.
    """
    (a, b, c), (d, e, f), (g, h, i) = np.asarray(matrix, dtype=np.float64).tolist()
    squares = (1 + a + e + i, 1 + a - e - i, 1 - a + e - i, 1 - a - e + i)
    rows = (
        (squares[0], h - f, c - g, d - b),
        (h - f, squares[1], d + b, c + g),
        (c - g, d + b, squares[2], h + f),
        (d - b, c + g, h + f, squares[3]),
    )
    row = np.array(rows[int(np.argmax(squares))])
    row /= np.linalg.norm(row)
    return -row if row[0] < 0 else row


def matrix_from_rotation_vector(vector: ArrayLike) -> Matrix:
    """Matrix of a rotation vector (3,): the exponential map."""
    values = np.asarray(vector, dtype=np.float64)
    angle = float(np.linalg.norm(values))
    if angle < _TINY:
        return np.eye(3) + cross_matrix(values)
    cross = cross_matrix(values / angle)
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * (cross @ cross)


def rotation_vector_from_matrix(matrix: Matrix) -> Vector:
    """The shortest rotation vector (3,) of a matrix: the logarithm, angle in [0, π]."""
    w, *xyz = wxyz_from_matrix(matrix).tolist()
    axis = np.array(xyz)
    sine = float(np.linalg.norm(axis))
    if sine < _TINY:
        return 2 * axis
    return axis * (2 * math.atan2(sine, w) / sine)


def about_y(angle: float) -> Matrix:
    """Rotation by `angle` (rad) about the y axis; positive turns x towards -z."""
    return matrix_from_rotation_vector((0.0, angle, 0.0))


def about_x(angle: float) -> Matrix:
    """Rotation by `angle` (rad) about the x axis; positive turns y towards z."""
    return matrix_from_rotation_vector((angle, 0.0, 0.0))


def about_z(angle: float) -> Matrix:
    """Rotation by `angle` (rad) about the z axis; positive turns x towards y."""
    return matrix_from_rotation_vector((0.0, 0.0, angle))
