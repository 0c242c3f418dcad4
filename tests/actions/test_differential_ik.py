"""Two arms following a stream of targets."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.actions.differential_ik import REACHED_M, REACHED_RAD, ArmStep, follow
from proctor.actions.kinematics import Pose, pose_error
from proctor.actions.robots import vx300s
from proctor.actions.rotations import about_z

ARMS = (vx300s.arm("left"), vx300s.arm("right"))
BENT = np.array([0.1, -0.6, 1.0, 0.2, 0.8, -0.1])
HERE = tuple(arm.forward(BENT) for arm in ARMS)
NOWHERE = Pose(np.array([0.0, 0.5, 3.0]), np.eye(3))


def test_both_arms_follow_a_moving_target_within_tolerance() -> None:
    joints = [BENT, BENT]
    for tick in range(1, 60):
        shift, turn = np.array([0.0, 0.002, 0.001]) * tick, about_z(0.005 * tick)
        targets = [Pose(pose.position + shift, turn @ pose.rotation) for pose in HERE]
        steps = follow(ARMS, targets, joints)
        joints = [step.joints for step in steps]
        for arm, target, step in zip(ARMS, targets, steps, strict=True):
            assert step.reached
            assert np.linalg.norm(pose_error(target, arm.forward(step.joints))) < 1e-4


def test_a_stream_moves_the_joints_in_small_steps() -> None:
    joints, largest = [BENT, BENT], 0.0
    for tick in range(1, 60):
        targets = [Pose(pose.position + np.array([0.0, 0.002, 0.001]) * tick, pose.rotation) for pose in HERE]
        steps = follow(ARMS, targets, joints)
        largest = max(
            largest, *(np.abs(step.joints - was).max() for step, was in zip(steps, joints, strict=True))
        )
        joints = [step.joints for step in steps]
    assert largest < 0.05


def test_the_residual_is_what_is_missing() -> None:
    step, _ = follow(ARMS, [NOWHERE, HERE[1]], [BENT, BENT])
    left = pose_error(NOWHERE, ARMS[0].forward(step.joints))
    assert step.residual_m == pytest.approx(np.linalg.norm(left[:3]))
    assert step.residual_rad == pytest.approx(np.linalg.norm(left[3:]))


def test_one_arms_unreachable_target_is_no_matter_to_the_other() -> None:
    left, right = follow(ARMS, [NOWHERE, HERE[1]], [BENT, BENT])
    assert (left.reached, right.reached) == (False, True)
    np.testing.assert_array_equal(right.joints, BENT)


def test_joints_stay_within_their_limits_towards_what_cannot_be_reached() -> None:
    joints = [BENT, BENT]
    for _ in range(10):
        joints = [step.joints for step in follow(ARMS, [NOWHERE, NOWHERE], joints)]
        for arm, found in zip(ARMS, joints, strict=True):
            assert np.all((found >= arm.low) & (found <= arm.high))


def led_astray() -> list[np.ndarray]:
    """The right arm ends with its waist turned round, from where descent does not come back."""
    joints = [BENT, BENT]
    for _ in range(5):
        joints = [step.joints for step in follow(ARMS, [NOWHERE, NOWHERE], joints)]
    return joints


def test_an_arm_led_astray_is_looked_for_from_the_postures() -> None:
    assert not all(step.reached for step in follow(ARMS, HERE, led_astray()))
    assert all(step.reached for step in follow(ARMS, HERE, led_astray(), vx300s.POSTURES))


def test_an_arm_that_reaches_its_target_never_leaves_its_branch() -> None:
    joints = [np.array([0.1, -0.6, 1.0, 2.9, -0.8, 2.9])] * 2
    targets = [arm.forward(each) for arm, each in zip(ARMS, joints, strict=True)]
    for step in follow(ARMS, targets, joints, vx300s.POSTURES):
        np.testing.assert_array_equal(step.joints, joints[0])


def test_out_of_reach_an_arm_settles_instead_of_changing_its_branch_again_and_again() -> None:
    targets = [Pose(pose.position + np.array([0.0, 0.0, 1.0]), pose.rotation) for pose in HERE]
    joints, moved = [BENT, BENT], []
    for _ in range(40):
        steps = follow(ARMS, targets, joints, vx300s.POSTURES)
        moved.append(max(np.abs(s.joints - was).max() for s, was in zip(steps, joints, strict=True)))
        joints = [step.joints for step in steps]
    assert max(moved[20:]) < 0.02


def test_nine_in_ten_poses_over_the_table_are_found_from_the_start() -> None:
    random = np.random.default_rng(0)
    found: list[ArmStep] = []
    while len(found) < 100:
        targets = [arm.forward(random.uniform(arm.low, arm.high)) for arm in ARMS]
        if all(_over_the_table(target) for target in targets):
            found += follow(ARMS, targets, [vx300s.START_JOINTS] * 2, vx300s.POSTURES)
    assert sum(step.reached for step in found) >= 0.9 * len(found)


def _over_the_table(pose: Pose) -> bool:
    x, y, z = pose.position
    return bool(abs(x) < 0.3 and 0.2 < y < 0.8 and z > 0.02)


def test_the_same_targets_from_the_same_joints_give_the_same_steps() -> None:
    first, again = (follow(ARMS, [NOWHERE, HERE[1]], [BENT, BENT]) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.joints, b.joints)


@pytest.mark.parametrize(
    ("residual_m", "residual_rad", "reached"),
    [
        (REACHED_M, REACHED_RAD, True),
        (1.001 * REACHED_M, 0.0, False),
        (0.0, 1.001 * REACHED_RAD, False),
    ],
)
def test_a_pose_is_reached_within_both_tolerances(
    residual_m: float, residual_rad: float, reached: bool
) -> None:
    assert ArmStep(BENT, residual_m, residual_rad).reached is reached
