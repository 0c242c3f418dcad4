"""Twenty numbers of two end effectors, in both conventions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.actions import grippers
from proctor.actions.kinematics import Pose
from proctor.actions.rotations import (
    matrix_from_rotation_vector,
    matrix_from_wxyz,
    rotation_vector_from_matrix,
    wxyz_from_matrix,
)
from proctor.actions.xvla_ee import (
    CONVENTIONS,
    LEGACY,
    PHYSICAL,
    ArmState,
    ArmTarget,
    Convention,
    pack_action,
    pack_state,
    unpack_action,
    unpack_state,
)
from proctor.errors import InvalidActionError

TOLERANCE = 2e-6
B = matrix_from_wxyz([0.923381, 0.102598, -0.205196, 0.307794])
D = matrix_from_wxyz([-0.303046, 0.707107, -0.606092, 0.202031])
LEFT = ArmState(Pose(np.array([0.1, 0.2, 0.3]), B), 1.0)
RIGHT = ArmState(Pose(np.array([-0.1, 0.2, 0.35]), D), 0.25)
STATES = {
    PHYSICAL: [
        *(0.1, 0.2, 0.3, 0.726316, -0.610526, 0.526316, 0.789474, 0.442105, 0.063158, -1),
        *(-0.1, 0.2, 0.35, 0.183673, -0.734694, -0.979592, -0.081633, -0.081633, -0.673469, 0.5),
    ],
    LEGACY: [
        *(0.1, 0.2, 0.3, 0.894737, 0.315789, 0.063158, -0.789474, -0.442105, 0.526316, -1),
        *(-0.1, 0.2, 0.35, -0.734694, -0.183673, -0.673469, 0.081633, 0.081633, -0.979592, 0.5),
    ],
}
BOTH = pytest.mark.parametrize("convention", [PHYSICAL, LEGACY], ids=lambda convention: convention.name)

vectors = st.lists(st.floats(-2, 2), min_size=3, max_size=3).map(np.array)
poses = st.builds(Pose, vectors, vectors.map(matrix_from_rotation_vector))


def angle_between(a: Any, b: Any) -> float:
    """Degrees."""
    return math.degrees(np.linalg.norm(rotation_vector_from_matrix(a @ b.T)))


@BOTH
def test_a_state_is_the_published_vector(convention: Convention) -> None:
    np.testing.assert_allclose(pack_state(LEFT, RIGHT, convention), STATES[convention], atol=TOLERANCE)


@BOTH
def test_the_published_vector_is_that_state(convention: Convention) -> None:
    for found, arm in zip(unpack_state(STATES[convention], convention), (LEFT, RIGHT), strict=True):
        np.testing.assert_allclose(found.pose.position, arm.pose.position)
        assert angle_between(found.pose.rotation, arm.pose.rotation) < 0.01
        assert found.opening == arm.opening


def test_an_action_is_the_published_command() -> None:
    """To RoboTwin's sixteen: per arm xyz, wxyz, and a gripper of -1 to close, +1 to open."""
    action = np.array(STATES[PHYSICAL])
    action[[9, 19]] = 0.9, 0.7
    sixteen = [
        [*arm.pose.position, *wxyz_from_matrix(arm.pose.rotation), grippers.xvla_command(gripper)]
        for arm, gripper in zip(unpack_action(action, PHYSICAL), (0.9, 0.7), strict=True)
    ]
    expected = [
        [0.1, 0.2, 0.3, 0.923381, 0.102598, -0.205196, 0.307794, -1],
        [-0.1, 0.2, 0.35, 0.303046, -0.707107, 0.606092, -0.202031, 1],
    ]
    np.testing.assert_allclose(sixteen, expected, atol=TOLERANCE)


@BOTH
@pytest.mark.parametrize(("value", "closes"), [(0.2, False), (0.7, False), (0.70001, True), (0.9, True)])
def test_each_gripper_of_an_action_closes_above_its_threshold(
    convention: Convention, value: float, closes: bool
) -> None:
    action = np.array(STATES[convention], np.float32)
    action[[9, 19]] = value, 0.0
    left, right = unpack_action(action, convention)
    assert (left.closes, right.closes) == (closes, False)


@BOTH
@given(poses, poses, st.booleans(), st.booleans())
def test_actions_survive_the_round_trip(
    convention: Convention, left: Pose, right: Pose, left_closes: bool, right_closes: bool
) -> None:
    given_targets = ArmTarget(left, left_closes), ArmTarget(right, right_closes)
    for found, wanted in zip(
        unpack_action(pack_action(*given_targets, convention), convention), given_targets, strict=True
    ):
        np.testing.assert_allclose(found.pose.position, wanted.pose.position)
        np.testing.assert_allclose(found.pose.rotation, wanted.pose.rotation, atol=1e-9)
        assert found.closes is wanted.closes


@BOTH
@given(poses, poses, st.floats(0, 1), st.floats(0, 1))
def test_states_survive_the_round_trip(
    convention: Convention, left: Pose, right: Pose, left_opening: float, right_opening: float
) -> None:
    arms = ArmState(left, left_opening), ArmState(right, right_opening)
    for found, wanted in zip(unpack_state(pack_state(*arms, convention), convention), arms, strict=True):
        np.testing.assert_allclose(found.pose.rotation, wanted.pose.rotation, atol=1e-9)
        assert found.opening == pytest.approx(wanted.opening)


@pytest.mark.parametrize(("arm", "degrees"), [(0, 145.716484), (1, 68.512040)])
def test_reading_one_convention_as_the_other_turns_the_pose_by_a_known_angle(
    arm: int, degrees: float
) -> None:
    mixed = unpack_state(pack_state(LEFT, RIGHT, PHYSICAL), LEGACY)[arm]
    assert angle_between(mixed.pose.rotation, (B, D)[arm]) == pytest.approx(degrees, abs=1e-4)


@BOTH
@pytest.mark.parametrize(("first", "side"), [(3, "left"), (13, "right")])
@pytest.mark.parametrize("six", [[0] * 6, [1] * 6, [np.nan] * 6])
def test_an_action_whose_numbers_are_no_rotation_names_the_arm(
    convention: Convention, first: int, side: str, six: list[float]
) -> None:
    action = np.array(STATES[convention])
    action[first : first + 6] = six
    with pytest.raises(InvalidActionError, match=f"{convention.representation}: {side} arm: not a rotation"):
        unpack_action(action, convention)


@BOTH
def test_a_state_whose_numbers_are_no_rotation_is_refused(convention: Convention) -> None:
    with pytest.raises(ValueError, match="not a rotation"):
        unpack_state(np.zeros(20), convention)


@pytest.mark.parametrize("shape", [(14,), (16,), (19,), (21,), (1, 20)])
def test_another_count_of_numbers_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\(20,\) numbers here, got \("):
        unpack_action(np.zeros(shape), PHYSICAL)


def test_conventions_are_found_by_their_representation() -> None:
    assert CONVENTIONS == {"xvla_ee_rot6d_20": PHYSICAL, "xvla_ee_rot6d_20_legacy": LEGACY}
    assert (PHYSICAL.name, LEGACY.name) == ("interleaved_true_wxyz", "interleaved_wxyz_as_xyzw")
