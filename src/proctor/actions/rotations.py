"""Rotations as matrices, quaternions, rotation vectors and Euler angles. Six numbers are in `rot6d`.

A matrix is right-handed, its columns the body's axes in the reference frame. A quaternion is named by its
order: `wxyz` or `xyzw`. A rotation vector is axis × angle, in radians. Everything is float64.
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
_COMPACT_EXCESS = 1e-5
"""How far the squared length of three components may exceed 1: float32 and text lose that much."""


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


def xyzw_from_wxyz(quaternion: ArrayLike) -> NDArray[np.float64]:
    """The same quaternion (4,) with its real part last."""
    w, x, y, z = np.asarray(quaternion, dtype=np.float64).tolist()
    return np.array([x, y, z, w])


def wxyz_from_xyzw(quaternion: ArrayLike) -> NDArray[np.float64]:
    """The same quaternion (4,) with its real part first."""
    x, y, z, w = np.asarray(quaternion, dtype=np.float64).tolist()
    return np.array([w, x, y, z])


def compact_from_wxyz(quaternion: ArrayLike) -> Vector:
    """The x, y, z (3,) of a unit quaternion, of the two that mean the same rotation the one with w >= 0."""
    w, *xyz = np.asarray(quaternion, dtype=np.float64).tolist()
    return -np.array(xyz) if w < 0 else np.array(xyz)


def wxyz_from_compact(compact: ArrayLike) -> NDArray[np.float64]:
    """The quaternion (4,), w >= 0, that `compact_from_wxyz` shortened.

    Raises ValueError where x² + y² + z² is more than 1 by more than rounding explains.
    """
    xyz = np.asarray(compact, dtype=np.float64)
    square = float(xyz @ xyz)
    if not square <= 1 + _COMPACT_EXCESS:
        raise ValueError(f"not the x, y, z of a unit quaternion: {xyz.tolist()}")
    return np.array([math.sqrt(max(0.0, 1 - square)), *xyz])


def robosuite_axis_angle(xyzw: ArrayLike) -> Vector:
    """Axis × angle (3,) of a unit quaternion, the angle in [0, 2π): what robosuite and LIBERO's states hold.

    The quaternion is taken as it is: with w < 0 the angle exceeds π, where `rotation_vector_from_matrix`
    takes the short way round.
    """
    x, y, z, w = np.asarray(xyzw, dtype=np.float64).tolist()
    real = min(1.0, max(-1.0, w))
    sine = math.sqrt(1 - real * real)
    if sine < _TINY:
        return np.zeros(3)
    return np.array([x, y, z]) * (2 * math.acos(real) / sine)


def matrix_from_euler_xyz(angles: ArrayLike) -> Matrix:
    """Turns about the fixed x, y and z axes (3,), rad, in this order: R = Rz Ry Rx."""
    x, y, z = np.asarray(angles, dtype=np.float64).tolist()
    return about_z(z) @ about_y(y) @ about_x(x)


def about_y(angle: float) -> Matrix:
    """Rotation by `angle` (rad) about the y axis; positive turns x towards -z."""
    return matrix_from_rotation_vector((0.0, angle, 0.0))


def about_x(angle: float) -> Matrix:
    """Rotation by `angle` (rad) about the x axis; positive turns y towards z."""
    return matrix_from_rotation_vector((angle, 0.0, 0.0))


def about_z(angle: float) -> Matrix:
    """Rotation by `angle` (rad) about the z axis; positive turns x towards y."""
    return matrix_from_rotation_vector((0.0, 0.0, angle))
