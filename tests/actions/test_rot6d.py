"""Six numbers of a rotation, in three orders."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.actions.rot6d import (
    columns_from_matrix,
    interleaved_from_matrix,
    matrix_from_columns,
    matrix_from_interleaved,
    matrix_from_rows,
    rows_from_matrix,
)
from proctor.actions.rotations import (
    about_z,
    matrix_from_rotation_vector,
    matrix_from_wxyz,
    rotation_vector_from_matrix,
    wxyz_from_matrix,
    xyzw_from_wxyz,
)

TOLERANCE = 2e-6

POSES = {
    "A": [0.707107, 0, 0, 0.707107],
    "B": [0.923381, 0.102598, -0.205196, 0.307794],
    "D": [-0.303046, 0.707107, -0.606092, 0.202031],
}
"""wxyz."""

INTERLEAVED = {
    "A": [0, -1, 1, 0, 0, 0],
    "B": [0.726316, -0.610526, 0.526316, 0.789474, 0.442105, 0.063158],
    "D": [0.183673, -0.734694, -0.979592, -0.081633, -0.081633, -0.673469],
}
COLUMNS = {
    "A": [0, 1, 0, -1, 0, 0],
    "B": [0.726316, 0.526316, 0.442105, -0.610526, 0.789474, 0.063158],
    "D": [0.183673, -0.979592, -0.081633, -0.734694, -0.081633, -0.673469],
}
ROWS = {
    "A": [0, -1, 0, 1, 0, 0],
    "B": [0.726316, -0.610526, -0.315789, 0.526316, 0.789474, -0.315789],
}

INTERLEAVED_ORDER = (interleaved_from_matrix, matrix_from_interleaved)
COLUMNS_ORDER = (columns_from_matrix, matrix_from_columns)
ROWS_ORDER = (rows_from_matrix, matrix_from_rows)
ORDERS = pytest.mark.parametrize(
    "order", [INTERLEAVED_ORDER, COLUMNS_ORDER, ROWS_ORDER], ids=["interleaved", "columns", "rows"]
)
VECTORS = [
    *((INTERLEAVED_ORDER, pose, values) for pose, values in INTERLEAVED.items()),
    *((COLUMNS_ORDER, pose, values) for pose, values in COLUMNS.items()),
    *((ROWS_ORDER, pose, values) for pose, values in ROWS.items()),
]

rotations = st.lists(st.floats(-2, 2), min_size=3, max_size=3).map(np.array).map(matrix_from_rotation_vector)


def matrix_of(pose: str) -> Any:
    return matrix_from_wxyz(POSES[pose])


def angle_between(a: Any, b: Any) -> float:
    """Degrees."""
    return math.degrees(np.linalg.norm(rotation_vector_from_matrix(a @ b.T)))


@pytest.mark.parametrize(("order", "pose", "values"), VECTORS)
def test_encoding(order: Any, pose: str, values: list[float]) -> None:
    encode, _ = order
    np.testing.assert_allclose(encode(matrix_of(pose)), values, atol=TOLERANCE)


@pytest.mark.parametrize(("order", "pose", "values"), VECTORS)
def test_decoding(order: Any, pose: str, values: list[float]) -> None:
    _, decode = order
    assert angle_between(decode(values), matrix_of(pose)) < 0.01


def test_the_identity_tells_interleaved_from_columns() -> None:
    assert interleaved_from_matrix(np.eye(3)).tolist() == [1, 0, 0, 1, 0, 0]
    assert columns_from_matrix(np.eye(3)).tolist() == [1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("decode", "xyzw"),
    [
        (matrix_from_interleaved, [0.034563, 0.058068, 0.106680, 0.991994]),
        (matrix_from_columns, [-0.931011, -0.088619, -0.083061, 0.344190]),
    ],
)
def test_numbers_that_are_no_unit_columns_are_made_so(decode: Any, xyzw: list[float]) -> None:
    matrix = decode([0.9, 0.1, 0.2, 1.1, -0.1, 0.05])
    np.testing.assert_allclose(xyzw_from_wxyz(wxyz_from_matrix(matrix)), xyzw, atol=TOLERANCE)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("written", "read", "degrees"),
    [
        (columns_from_matrix, matrix_from_interleaved, {"B": 176.503729, "D": 58.913590}),
        (interleaved_from_matrix, matrix_from_columns, {"B": 81.488594, "D": 56.144167}),
        (rows_from_matrix, matrix_from_columns, {"A": 180.0, "B": 90.298384, "D": 70.562524}),
    ],
)
def test_reading_one_order_as_another_turns_the_poses_by_known_angles(
    written: Any, read: Any, degrees: dict[str, float]
) -> None:
    for pose, angle in degrees.items():
        found = angle_between(read(written(matrix_of(pose))), matrix_of(pose))
        assert found == pytest.approx(angle, abs=2e-4)


@pytest.mark.parametrize(
    ("written", "read"),
    [(columns_from_matrix, matrix_from_interleaved), (interleaved_from_matrix, matrix_from_columns)],
)
def test_reading_a_quarter_turn_about_z_in_the_wrong_order_leaves_no_axis(written: Any, read: Any) -> None:
    with pytest.raises(ValueError, match="not a rotation"):
        read(written(about_z(math.pi / 2).round()))


@ORDERS
@given(rotations)
def test_rotations_survive_the_round_trip(order: Any, matrix: Any) -> None:
    encode, decode = order
    np.testing.assert_allclose(decode(encode(matrix)), matrix, atol=1e-12)


finite = st.floats(allow_nan=False, allow_infinity=False)


@ORDERS
@given(st.lists(finite, min_size=6, max_size=6))
def test_six_finite_numbers_are_a_rotation_or_an_error(order: Any, values: list[float]) -> None:
    _, decode = order
    with contextlib.suppress(ValueError):
        matrix = decode(values)
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-6)
        assert np.linalg.det(matrix) > 0


@ORDERS
@pytest.mark.parametrize(
    "values",
    [
        [0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1],
        [1e-9, 0, 0, 1e-9, 0, 0],
        [np.nan, 0, 0, 1, 0, 0],
        [np.inf, 0, 0, 1, 0, 0],
        [1, 0, 0, np.inf, 0, 0],
    ],
)
def test_what_gives_no_two_axes_is_refused(order: Any, values: list[float]) -> None:
    _, decode = order
    with pytest.raises(ValueError, match="not a rotation: the six numbers give no two perpendicular axes"):
        decode(values)


@ORDERS
@pytest.mark.parametrize("count", [0, 3, 5, 7, 9])
def test_another_count_of_numbers_is_refused(order: Any, count: int) -> None:
    _, decode = order
    with pytest.raises(ValueError, match=f"6 numbers here, got {count}"):
        decode([1.0] * count)
