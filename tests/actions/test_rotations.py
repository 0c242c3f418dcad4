"""Rotations against reference values, and against each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proctor.actions.rot6d import interleaved_from_matrix
from proctor.actions.rotations import (
    about_x,
    about_y,
    about_z,
    compact_from_wxyz,
    cross_matrix,
    matrix_from_euler_xyz,
    matrix_from_rotation_vector,
    matrix_from_wxyz,
    robosuite_axis_angle,
    rotation_vector_from_matrix,
    wxyz_from_compact,
    wxyz_from_matrix,
    wxyz_from_xyzw,
    xyzw_from_wxyz,
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


def angle_between(a: Any, b: Any) -> float:
    """Degrees."""
    return math.degrees(np.linalg.norm(rotation_vector_from_matrix(a @ b.T)))


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


# --- orders of a quaternion --------------------------------------------------------------------------


def test_the_real_part_is_last_in_xyzw_and_first_in_wxyz() -> None:
    assert xyzw_from_wxyz([1, 2, 3, 4]).tolist() == [2, 3, 4, 1]
    assert wxyz_from_xyzw([1, 2, 3, 4]).tolist() == [4, 1, 2, 3]


@pytest.mark.parametrize(
    ("pose", "degrees"),
    [("90 degrees about z", 120.000000), ("generic", 145.716484), ("negative w", 68.512040)],
)
def test_swapping_the_order_turns_a_pose_by_a_known_angle(pose: str, degrees: float) -> None:
    wxyz, matrix = POSES[pose]
    swapped = matrix_from_wxyz(wxyz_from_xyzw(wxyz))
    assert angle_between(swapped, np.reshape(matrix, (3, 3))) == pytest.approx(degrees, abs=1e-4)


# --- compact quaternions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pose", "xyz", "w"),
    [
        ("generic", [0.102598, -0.205196, 0.307794], 0.923381),
        ("negative w", [-0.707107, 0.606092, -0.202031], 0.303046),
    ],
)
def test_a_compact_quaternion_stands_for_the_sign_with_positive_w(
    pose: str, xyz: list[float], w: float
) -> None:
    np.testing.assert_allclose(compact_from_wxyz(POSES[pose][0]), xyz, atol=TOLERANCE)
    np.testing.assert_allclose(wxyz_from_compact(xyz), [w, *xyz], atol=TOLERANCE)


def test_keeping_the_negative_sign_would_turn_the_pose_by_70_degrees() -> None:
    wxyz, matrix = POSES["negative w"]
    wrong = matrix_from_wxyz(wxyz_from_compact(wxyz[1:]))
    assert angle_between(wrong, np.reshape(matrix, (3, 3))) == pytest.approx(70.562524, abs=5e-4)


def test_rounding_beyond_the_unit_sphere_is_forgiven_and_more_is_not() -> None:
    assert wxyz_from_compact([1.000004, 0, 0]).tolist() == [0.0, 1.000004, 0, 0]
    with pytest.raises(ValueError, match=r"not the x, y, z of a unit quaternion: \[1\.001"):
        wxyz_from_compact([1.001, 0, 0])


def test_a_compact_quaternion_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="unit quaternion"):
        wxyz_from_compact([np.nan, 0, 0])


@given(unit_quaternions)
def test_compact_quaternions_survive_the_round_trip(wxyz: Any) -> None:
    compact = compact_from_wxyz(wxyz)
    np.testing.assert_allclose(compact_from_wxyz(wxyz_from_compact(compact)), compact, atol=1e-12)


# --- axis-angle and Euler angles ---------------------------------------------------------------------


def test_robosuite_goes_the_long_way_round_where_w_is_negative() -> None:
    xyzw = [0.6, 0, 0, -0.8]
    np.testing.assert_allclose(robosuite_axis_angle(xyzw), [4.996183, 0, 0], atol=TOLERANCE)
    shortest = rotation_vector_from_matrix(matrix_from_wxyz(wxyz_from_xyzw(xyzw)))
    np.testing.assert_allclose(shortest, [-1.287002, 0, 0], atol=TOLERANCE)


def test_robosuite_form_of_the_pose_with_negative_w() -> None:
    found = robosuite_axis_angle(xyzw_from_wxyz(POSES["negative w"][0]))
    np.testing.assert_allclose(found, [2.787961, -2.389681, 0.796560], atol=5e-6)


@pytest.mark.parametrize("xyzw", [[0, 0, 0, 1], [0, 0, 0, -1], [0, 0, 0, 1 + 1e-9]])
def test_robosuite_form_of_no_turn_and_of_a_whole_one_is_zero(xyzw: list[float]) -> None:
    assert robosuite_axis_angle(xyzw).tolist() == [0, 0, 0]


@given(unit_quaternions)
def test_both_forms_of_axis_angle_mean_the_same_rotation(wxyz: Any) -> None:
    # Upstream divides by sqrt(1 - w²), which has no correct digits left where w is nearly ±1.
    assume(abs(wxyz[0]) < 1 - 1e-9)
    vector = robosuite_axis_angle(xyzw_from_wxyz(wxyz))
    np.testing.assert_allclose(matrix_from_rotation_vector(vector), matrix_from_wxyz(wxyz), atol=1e-6)


@pytest.mark.parametrize(
    ("angles", "xyzw", "interleaved"),
    [
        (
            [0.3, -0.4, 0.5],
            [0.190506, -0.154097, 0.268515, 0.931591],
            [0.808307, -0.559006, 0.441580, 0.783214, 0.389418, 0.272192],
        ),
        (
            [3.0, 0.1, 1.5],
            [0.726534, 0.681668, 0.011679, 0.085675],
            [0.070384, 0.988509, 0.992512, -0.055976, -0.099833, 0.140415],
        ),
    ],
)
def test_euler_angles_turn_about_fixed_axes(
    angles: list[float], xyzw: list[float], interleaved: list[float]
) -> None:
    matrix = matrix_from_euler_xyz(angles)
    assert same_rotation(wxyz_from_matrix(matrix), wxyz_from_xyzw(xyzw))
    np.testing.assert_allclose(interleaved_from_matrix(matrix), interleaved, atol=TOLERANCE)


def test_reading_euler_angles_about_moving_axes_would_turn_the_pose_by_15_degrees() -> None:
    x, y, z = 0.3, -0.4, 0.5
    moving = about_x(x) @ about_y(y) @ about_z(z)
    assert same_rotation(wxyz_from_matrix(moving), wxyz_from_xyzw([0.093307, -0.226566, 0.210984, 0.946281]))
    assert angle_between(moving, matrix_from_euler_xyz([x, y, z])) == pytest.approx(15.481713, abs=1e-4)


@pytest.mark.parametrize("quaternion", [[0, 0, 0, 0], [1, 0, 0], [np.nan, 0, 0, 1]])
def test_what_is_no_quaternion_is_refused(quaternion: list[float]) -> None:
    with pytest.raises(ValueError, match="not a rotation quaternion"):
        matrix_from_wxyz(quaternion)
