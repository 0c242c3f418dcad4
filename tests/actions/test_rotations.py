"""Rotations against reference values, and against each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.actions.rotations import (
    about_x,
    about_y,
    about_z,
    cross_matrix,
    matrix_from_rotation_vector,
    matrix_from_wxyz,
    rotation_vector_from_matrix,
    wxyz_from_matrix,
)

TOLERANCE = 2e-6

POSES: dict[str, tuple[list[float], list[float]]] = {
    "90 degrees about z": ([0.707107, 0, 0, 0.707107], [0, -1, 0, 1, 0, 0, 0, 0, 1]),
    "generic": (
        [0.923381, 0.102598, -0.205196, 0.307794],
        [0.726316, -0.610526, -0.315789, 0.526316, 0.789474, -0.315789, 0.442105, 0.063158, 0.894737],
    ),
    "negative w": (
        [-0.303046, 0.707107, -0.606092, 0.202031],
        [0.183673, -0.734694, 0.653061, -0.979592, -0.081633, 0.183673, -0.081633, -0.673469, -0.734694],
    ),
}

VECTORS = {
    (0.1, -0.2, 0.3): [0.982551, 0.049709, -0.099418, 0.149127],
    (0, 0, 1.570796): [0.707107, 0, 0, 0.707107],
    (2, 0.5, -0.5): [0.488296, 0.822769, 0.205692, -0.205692],
}

components = st.floats(-1, 1)
unit_quaternions = (
    st.tuples(components, components, components, components)
    .map(np.array)
    .filter(lambda q: bool(np.linalg.norm(q) > 1e-3))
    .map(lambda q: q / np.linalg.norm(q))
)


def same_rotation(a: Any, b: Any) -> bool:
    return bool(min(np.abs(a - b).max(), np.abs(a + b).max()) < TOLERANCE)


@pytest.mark.parametrize("pose", POSES)
def test_quaternion_to_matrix(pose: str) -> None:
    wxyz, matrix = POSES[pose]
    np.testing.assert_allclose(matrix_from_wxyz(wxyz).ravel(), matrix, atol=TOLERANCE)


@pytest.mark.parametrize("pose", POSES)
def test_matrix_to_quaternion_has_no_negative_w(pose: str) -> None:
    wxyz, matrix = POSES[pose]
    found = wxyz_from_matrix(np.reshape(matrix, (3, 3)))
    assert found[0] >= 0
    assert same_rotation(found, np.array(wxyz))


@pytest.mark.parametrize("vector", VECTORS)
def test_rotation_vector_to_quaternion(vector: tuple[float, float, float]) -> None:
    found = wxyz_from_matrix(matrix_from_rotation_vector(vector))
    assert same_rotation(found, np.array(VECTORS[vector]))


def test_the_logarithm_takes_the_short_way() -> None:
    matrix = matrix_from_wxyz(POSES["negative w"][0])
    found = rotation_vector_from_matrix(matrix)
    np.testing.assert_allclose(found, [-1.874154, 1.606417, -0.535472], atol=TOLERANCE)


@given(unit_quaternions)
def test_quaternions_survive_the_round_trip(wxyz: Any) -> None:
    assert same_rotation(wxyz_from_matrix(matrix_from_wxyz(wxyz)), wxyz)


@given(unit_quaternions)
def test_the_exponential_undoes_the_logarithm(wxyz: Any) -> None:
    matrix = matrix_from_wxyz(wxyz)
    vector = rotation_vector_from_matrix(matrix)
    assert np.linalg.norm(vector) <= math.pi + 1e-9
    np.testing.assert_allclose(matrix_from_rotation_vector(vector), matrix, atol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 1e-15, 1e-9, 1e-6, math.pi - 1e-9, math.pi])
def test_the_ends_of_the_angle_range_keep_their_precision(angle: float) -> None:
    vector = np.array([0.6, 0.0, -0.8]) * angle
    found = rotation_vector_from_matrix(matrix_from_rotation_vector(vector))
    assert min(np.abs(found - vector).max(), np.abs(found + vector).max()) < 1e-8
    if angle < 3:
        np.testing.assert_allclose(found, vector, atol=1e-15)


def test_elementary_turns_follow_the_right_hand() -> None:
    np.testing.assert_allclose(about_x(math.pi / 2) @ [0, 1, 0], [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(about_y(math.pi / 2) @ [1, 0, 0], [0, 0, -1], atol=1e-15)
    np.testing.assert_allclose(about_z(math.pi / 2) @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_cross_matrix_multiplies_like_the_cross_product() -> None:
    a, b = np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0, -1.0])
    np.testing.assert_array_equal(cross_matrix(a) @ b, np.cross(a, b))


@pytest.mark.parametrize("quaternion", [[0, 0, 0, 0], [1, 0, 0], [np.nan, 0, 0, 1]])
def test_what_is_no_quaternion_is_refused(quaternion: list[float]) -> None:
    with pytest.raises(ValueError, match="not a rotation quaternion"):
        matrix_from_wxyz(quaternion)
