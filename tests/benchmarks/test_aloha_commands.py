"""From actions to gym-aloha's joint targets, without the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proctor.actions.differential_ik import VERSION
from proctor.actions.robots import vx300s
from proctor.actions.xvla_ee import CONVENTIONS, LEGACY, PHYSICAL, unpack_action, unpack_state
from proctor.benchmarks.aloha.commands import (
    ARMS,
    EndEffectorCommands,
    JointCommands,
    commands_for,
    end_effector_state,
)
from proctor.benchmarks.registry import find_version
from proctor.errors import BenchmarkFault, InvalidActionError, UnknownNameError

START = np.array([*vx300s.START_JOINTS, 0.0998] * 2)
BOTH = pytest.mark.parametrize("convention", [PHYSICAL, LEGACY], ids=lambda convention: convention.name)


def started(convention: Any, joints: np.ndarray = START) -> EndEffectorCommands:
    commands = EndEffectorCommands(convention)
    commands.start(joints)
    return commands


def test_every_representation_of_the_benchmark_is_carried_out() -> None:
    for action in find_version("aloha-sim-v1").definition.actions:
        commands_for(action.representation, VERSION)


def test_a_representation_of_another_robot_is_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match=r"gym-aloha 'joint_abs_7'; did you mean 'joint_abs_14'"):
        commands_for("joint_abs_7", VERSION)


def test_joint_targets_pass_as_they_are() -> None:
    action = np.linspace(-1, 1, 14, dtype=np.float32)
    command = JointCommands().command(action)
    assert command.joints is action
    assert (command.events, command.metrics) == ((), {})


def test_joints_hold_where_they_are() -> None:
    np.testing.assert_array_equal(JointCommands().holding(START), START.astype(np.float32))


@BOTH
def test_the_state_holds_both_poses_and_says_open_with_minus_one(convention: Any) -> None:
    joints = START.copy()
    joints[[6, 13]] = 1.0, 0.25
    state = end_effector_state(joints, convention)
    assert (state.dtype, state.shape) == (np.dtype("float32"), (20,))
    assert state[[9, 19]].tolist() == [-1.0, 0.5]
    for arm, chain in zip(unpack_state(state, convention), ARMS, strict=True):
        np.testing.assert_allclose(arm.pose.rotation, chain.forward(START[:6]).rotation, atol=1e-6)
    np.testing.assert_allclose(state[:3], [-0.31718881 + 0.1335, 0.5, 0.31], atol=0.05)


@BOTH
def test_holding_still_keeps_the_joints(convention: Any) -> None:
    commands = started(convention)
    for _ in range(5):
        command = commands.command(commands.holding(START))
        np.testing.assert_allclose(np.delete(command.joints, [6, 13]), np.delete(START, [6, 13]), atol=1e-3)
        assert command.events == ()


@pytest.mark.parametrize(("opening", "closes"), [(0.0, True), (0.49, True), (0.51, False), (1.0, False)])
def test_holding_takes_the_gripper_command_that_is_nearer(opening: float, closes: bool) -> None:
    joints = START.copy()
    joints[[6, 13]] = opening
    left, right = unpack_action(started(PHYSICAL).holding(joints), PHYSICAL)
    assert (left.closes, right.closes) == (closes, closes)


@BOTH
def test_a_reachable_target_is_reached_without_an_event(convention: Any) -> None:
    commands = started(convention)
    action = commands.holding(START)
    action[[0, 2]] += 0.03, -0.02
    command = commands.command(action)
    for side, target in zip((slice(0, 6), slice(7, 13)), unpack_action(action, convention), strict=True):
        chain = ARMS[0] if side.start == 0 else ARMS[1]
        reached = chain.forward(command.joints[side])
        np.testing.assert_allclose(reached.position, target.pose.position, atol=1e-4)
        np.testing.assert_allclose(reached.rotation, target.pose.rotation, atol=1e-4)
    assert command.events == ()
    assert command.metrics["ik_failed"] == 0
    assert command.metrics["ik_residual_mm"] < 0.1


@pytest.mark.parametrize(("value", "opening"), [(0.0, 1.0), (0.7, 1.0), (0.71, 0.0), (1.0, 0.0)])
def test_a_gripper_opens_or_closes_all_the_way(value: float, opening: float) -> None:
    commands = started(PHYSICAL)
    action = commands.holding(START)
    action[[9, 19]] = value
    assert commands.command(action).joints[[6, 13]].tolist() == [opening, opening]


def out_of_reach(commands: EndEffectorCommands) -> np.ndarray:
    """The left arm 3 m up and closing, the right one held."""
    action = commands.holding(START)
    action[2], action[9] = 3.0, 1.0
    return action


def test_an_unreachable_pose_is_an_event_of_its_arm_at_every_step() -> None:
    commands = started(PHYSICAL)
    for step in (1, 2, 3):
        command = commands.command(out_of_reach(commands))
        assert command.events == ("unreachable pose: left arm",)
        assert command.metrics["ik_failed"] == step
        assert command.metrics["ik_residual_mm"] > 2000


def test_towards_an_unreachable_pose_the_arm_goes_its_way_and_the_gripper_moves() -> None:
    commands = started(PHYSICAL)
    joints = commands.command(out_of_reach(commands)).joints
    assert ARMS[0].forward(joints[:6]).position[2] > 0.6
    assert np.all((joints[:6] >= ARMS[0].low) & (joints[:6] <= ARMS[0].high))
    assert joints[6] == 0.0
    np.testing.assert_allclose(joints[7:13], START[7:13], atol=1e-3)


def test_both_arms_out_of_reach_are_two_events_and_one_failed_step() -> None:
    commands = started(PHYSICAL)
    action = commands.holding(START)
    action[[2, 12]] = 3.0
    command = commands.command(action)
    assert command.events == ("unreachable pose: left arm", "unreachable pose: right arm")
    assert command.metrics["ik_failed"] == 1


def test_residuals_are_the_largest_of_the_episode() -> None:
    commands = started(PHYSICAL)
    worst = commands.command(out_of_reach(commands)).metrics
    for _ in range(5):
        later = commands.command(commands.holding(START)).metrics
    assert later["ik_residual_mm"] == worst["ik_residual_mm"]
    assert later["ik_residual_deg"] == pytest.approx(worst["ik_residual_deg"])
    assert later["ik_failed"] == 1


@BOTH
def test_a_start_forgets_everything_before_it(convention: Any) -> None:
    used, fresh = started(convention), started(convention)
    for _ in range(3):
        used.command(out_of_reach(used))
    used.start(START)
    action = fresh.holding(START)
    action[0] += 0.05
    ours, theirs = used.command(action), fresh.command(action)
    np.testing.assert_array_equal(ours.joints, theirs.joints)
    assert (ours.events, ours.metrics) == (theirs.events, theirs.metrics)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_numbers_that_are_no_rotation_are_refused(name: str) -> None:
    commands = started(CONVENTIONS[name])
    with pytest.raises(InvalidActionError, match=f"{name}: left arm: not a rotation"):
        commands.command(np.zeros(20, np.float32))


def test_a_refused_action_leaves_the_arms_where_they_were() -> None:
    commands, fresh = started(PHYSICAL), started(PHYSICAL)
    with pytest.raises(InvalidActionError):
        commands.command(np.zeros(20, np.float32))
    action = fresh.holding(START)
    np.testing.assert_array_equal(commands.command(action).joints, fresh.command(action).joints)


def test_other_inverse_kinematics_than_the_version_names_are_refused() -> None:
    with pytest.raises(BenchmarkFault, match="inverse_kinematics 'other-1': this proctor has 'damped"):
        commands_for("xvla_ee_rot6d_20", "other-1")
