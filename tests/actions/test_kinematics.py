"""Forward and inverse kinematics of a chain of hinges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.actions.kinematics import (
    MAX_ITERATIONS,
    STEP_CAP_RAD,
    TOLERANCE,
    Hinge,
    Pose,
    SerialChain,
    pose_error,
)
from proctor.actions.robots import vx300s
from proctor.actions.rotations import about_y, about_z, matrix_from_rotation_vector

TWO_BARS = SerialChain(
    Pose(np.array([0.0, 0.0, 1.0]), np.eye(3)),
    (
        Hinge("first", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), -math.pi, math.pi),
        Hinge("second", (0.5, 0.0, 0.0), (0.0, 0.0, 1.0), -2.0, 2.0),
    ),
    (0.3, 0.0, 0.0),
)

ARM = vx300s.arm("left")
START = np.array(vx300s.START_JOINTS)
X = np.array([1.0, 0.0, 0.0])
WAIST = np.eye(6)[0]
BENT = np.array([0.0, -0.6, 1.0, 0.0, 0.8, 0.0])
"""Far from any singularity: elbow and wrist are bent."""
near_bent = st.lists(st.floats(-0.25, 0.25), min_size=6, max_size=6).map(lambda d: BENT + np.array(d))


def test_a_straight_chain_ends_at_the_sum_of_its_bars() -> None:
    tool = TWO_BARS.forward([0.0, 0.0])
    np.testing.assert_allclose(tool.position, [0.8, 0.0, 1.0])
    np.testing.assert_allclose(tool.rotation, np.eye(3))


def test_a_bent_chain_is_where_trigonometry_puts_it() -> None:
    tool = TWO_BARS.forward([math.pi / 2, -math.pi / 2])
    np.testing.assert_allclose(tool.position, [0.3, 0.5, 1.0], atol=1e-15)


def test_the_base_carries_the_chain() -> None:
    turned = SerialChain(Pose(np.array([1.0, 0.0, 0.0]), about_z(math.pi)), TWO_BARS.hinges, TWO_BARS.tool)
    np.testing.assert_allclose(turned.forward([0.0, 0.0]).position, [0.2, 0.0, 0.0], atol=1e-15)


@given(near_bent)
def test_the_jacobian_is_the_derivative_of_the_forward_map(joints: Any) -> None:
    step = 1e-6
    jacobian = ARM.jacobian(joints)
    for column in range(6):
        nudge = np.zeros(6)
        nudge[column] = step
        moved, back = ARM.forward(joints + nudge), ARM.forward(joints - nudge)
        np.testing.assert_allclose(pose_error(moved, back) / (2 * step), jacobian[:, column], atol=1e-6)


@given(near_bent)
def test_the_inverse_finds_a_pose_the_arm_can_take(joints: Any) -> None:
    target = ARM.forward(joints)
    found = ARM.solve(target, joints + 0.02)
    assert found.reached
    assert np.linalg.norm(pose_error(target, ARM.forward(found.joints))) < TOLERANCE


def test_a_moving_target_takes_one_or_two_steps() -> None:
    joints = np.array([0.3, -0.7, 1.0, 0.2, 0.5, -0.1])
    start = ARM.forward(joints)
    for tick in range(1, 50):
        target = Pose(start.position + 0.001 * tick * X, start.rotation)
        found = ARM.solve(target, joints)
        assert found.reached
        assert found.iterations <= 2
        joints = found.joints


def test_standing_on_the_target_takes_no_step() -> None:
    found = ARM.solve(ARM.forward(START), START)
    np.testing.assert_array_equal(found.joints, START)
    assert (found.iterations, found.reached) == (0, True)


def test_an_unreachable_target_is_said_to_be_so_and_stays_within_limits() -> None:
    found = ARM.solve(Pose(np.array([3.0, 0.5, 0.3]), np.eye(3)), START)
    assert not found.reached
    assert found.iterations <= MAX_ITERATIONS
    assert found.residual_m > 2
    assert np.all(np.isfinite(found.joints))
    assert np.all((found.joints >= ARM.low) & (found.joints <= ARM.high))


def test_out_of_reach_straight_ahead_the_arm_stretches_towards_the_target() -> None:
    found = TWO_BARS.solve(Pose(np.array([1.0, 0.0, 1.0]), np.eye(3)), [0.3, -0.6])
    assert not found.reached
    assert found.residual_m == pytest.approx(0.2, abs=1e-3)
    assert found.residual_rad < 1e-2


def test_a_joint_at_its_limit_leaves_the_rest_of_the_way_to_the_others() -> None:
    """The second hinge stops at 2 rad; what a target asks beyond that the first makes good in part."""
    target = TWO_BARS.forward([0.2, 2.0])
    beyond = Pose(target.position, matrix_from_rotation_vector([0, 0, 0.5]) @ target.rotation)
    found = TWO_BARS.solve(beyond, [0.1, 1.9])
    best = min(
        float(np.linalg.norm(pose_error(beyond, TWO_BARS.forward([first, 2.0]))))
        for first in np.linspace(0.0, 1.0, 1001)
    )
    assert found.joints[1] == 2.0
    assert np.linalg.norm(found.error) == pytest.approx(best, abs=1e-4)


wide = st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6)


@given(wide, wide)
def test_what_is_found_is_never_further_away_than_the_start(offset: Any, turn: Any) -> None:
    here = ARM.forward(BENT)
    target = Pose(here.position + np.array(offset[:3]), matrix_from_rotation_vector(turn[:3]) @ here.rotation)
    found = ARM.solve(target, BENT)
    assert np.linalg.norm(found.error) <= np.linalg.norm(pose_error(target, here))
    np.testing.assert_array_equal(found.error, pose_error(target, ARM.forward(found.joints)))


def test_searching_on_from_what_was_found_out_of_reach_moves_the_arm_no_further() -> None:
    target = Pose(np.array([0.6, 0.5, 0.4]), np.eye(3))
    joints = START
    for _ in range(20):
        joints = ARM.solve(target, joints).joints
    np.testing.assert_allclose(ARM.solve(target, joints).joints, joints, atol=5e-3)


def test_the_residuals_are_the_distance_and_the_angle_of_the_error() -> None:
    found = ARM.solve(Pose(np.array([3.0, 0.5, 0.3]), np.eye(3)), START)
    assert found.residual_m == np.linalg.norm(found.error[:3])
    assert found.residual_rad == np.linalg.norm(found.error[3:])


def test_a_start_outside_the_limits_is_brought_inside() -> None:
    found = TWO_BARS.solve(TWO_BARS.forward([0.1, 0.2]), [0.1, 5.0])
    assert TWO_BARS.low[1] <= found.joints[1] <= TWO_BARS.high[1]


def test_the_search_never_moves_a_joint_further_than_the_cap_at_once() -> None:
    far = ARM.forward(START + 1.5 * WAIST)
    found = ARM.solve(far, START)
    assert found.iterations >= 1.5 / STEP_CAP_RAD
    assert found.reached


def test_the_error_is_a_translation_and_a_turn_in_the_world() -> None:
    present = Pose(np.array([1.0, 2.0, 3.0]), about_y(0.4))
    target = Pose(np.array([1.5, 2.0, 3.0]), matrix_from_rotation_vector((0, 0, 0.2)) @ about_y(0.4))
    np.testing.assert_allclose(pose_error(target, present), [0.5, 0, 0, 0, 0, 0.2], atol=1e-12)


@pytest.mark.parametrize(("side", "x"), [("left", -0.31718881), ("right", 0.31718881)])
def test_the_gripper_links_start_where_the_simulator_has_them(side: vx300s.Side, x: float) -> None:
    link = vx300s.arm(side, tool_m=0.0).forward(vx300s.START_JOINTS)
    np.testing.assert_allclose(link.position, [x, 0.5, 0.29525084], atol=2e-6)


def test_the_grip_point_lies_ahead_of_the_gripper_link() -> None:
    link, grip = vx300s.arm("left", tool_m=0.0).forward(START), ARM.forward(START)
    np.testing.assert_allclose(grip.position - link.position, link.rotation @ [vx300s.GRIP_M, 0, 0])


def test_the_start_pose_is_within_the_limits() -> None:
    assert np.all((ARM.low < START) & (ARM.high > START))
