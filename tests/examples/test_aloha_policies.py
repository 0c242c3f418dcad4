"""The ALOHA example policies, loaded and driven as a server would, without a simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.actions.robots import vx300s
from proctor.actions.xvla_ee import LEGACY, PHYSICAL, unpack_action
from proctor.benchmarks.aloha.commands import ARMS
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.spec import benchmark_spec
from proctor.errors import PolicyLoadError
from proctor.policy import (
    EpisodeContext,
    Observation,
    Policy,
    SessionContext,
    negotiate_policy_action_contract,
    validate_action_chunk,
    validate_policy_capabilities,
)
from proctor.policy.loading import make_policy

POLICIES = Path(__file__).parents[2] / "examples" / "policies"
POSES = "privileged.environment_state"
CUBE = np.array([0.1, 0.5, 0.05, 1, 0, 0, 0, *[0] * 7], np.float32)
PEG_AND_SOCKET = np.array([0.15, 0.45, 0.05, 1, 0, 0, 0, -0.15, 0.55, 0.05, 1, 0, 0, 0], np.float32)
DEFINITION = find_version("aloha-sim-v1").definition
SPEC = benchmark_spec(DEFINITION, privileged=(POSES,))
END_EFFECTORS = {convention.representation: convention for convention in (PHYSICAL, LEGACY)}
TASKS = pytest.mark.parametrize(("task", "poses"), [("transfer-cube", CUBE), ("insertion", PEG_AND_SOCKET)])


def expert(**args: Any) -> Policy:
    return make_policy(f"{POLICIES / 'aloha_expert.py'}:AlohaExpert", args)


def see(episode: str, poses: np.ndarray, step: int = 0) -> Observation:
    joints = np.array([*vx300s.START_JOINTS, 0.1] * 2, np.float32)
    return Observation(episode, step, {"state.joints": joints, POSES: poses})


def play(policy: Policy, episode: str, task: str, poses: np.ndarray, **context: Any) -> np.ndarray:
    policy.reset(EpisodeContext(episode, task, horizon=300, **context))
    chunks = [policy.act(see(episode, poses, step)).actions for step in range(0, 300, 50)]
    policy.end_episode(episode)
    return np.concatenate(chunks)


@pytest.mark.parametrize("args", [{}, {"look": "images.top"}, {"chunk": 10}, {"blur_mm": 5.0}])
def test_the_expert_declares_what_the_benchmark_accepts(args: dict[str, Any]) -> None:
    validate_policy_capabilities(SPEC, expert(**args).load(SessionContext("s", "", SPEC)))


def test_looking_adds_the_named_image_and_nothing_else() -> None:
    blind = expert().load(SessionContext("s", "", SPEC)).required_features
    looking = expert(look="images.top").load(SessionContext("s", "", SPEC)).required_features
    assert set(looking) - set(blind) == {"images.top"}


@TASKS
def test_plans_are_valid_actions_within_the_limits(task: str, poses: np.ndarray) -> None:
    policy = expert()
    policy.reset(EpisodeContext("e", task, horizon=300))
    chunk = policy.act(see("e", poses))
    validate_action_chunk(chunk, SPEC)
    assert len(chunk) == 50
    actions = play(policy, "e", task, poses)
    assert SPEC.action.low is not None
    assert SPEC.action.high is not None
    assert np.all(actions >= np.float32(SPEC.action.low))
    assert np.all(actions <= np.float32(SPEC.action.high))


@TASKS
def test_plans_start_at_the_start_pose_and_never_jump(task: str, poses: np.ndarray) -> None:
    actions = play(expert(), "e", task, poses)
    joints = np.delete(actions, [6, 13], axis=1)
    start = np.array([*vx300s.START_JOINTS] * 2)
    assert np.abs(np.diff(joints, axis=0, prepend=start[None])).max() < 0.2


@pytest.mark.parametrize("name", END_EFFECTORS)
def test_the_expert_declares_the_representation_it_was_asked_for(name: str) -> None:
    spec = benchmark_spec(DEFINITION, representation=name, privileged=(POSES,))
    capabilities = expert(representation=name).load(SessionContext("s", "", spec))
    contract = negotiate_policy_action_contract(spec, capabilities)
    assert (contract.action_representation, contract.action_representation_source) == (name, "policy")


@TASKS
@pytest.mark.parametrize("name", END_EFFECTORS)
def test_end_effector_plans_are_valid_actions_within_the_limits(
    name: str, task: str, poses: np.ndarray
) -> None:
    spec = benchmark_spec(DEFINITION, representation=name, privileged=(POSES,))
    policy = expert(representation=name)
    policy.reset(EpisodeContext("e", task, horizon=300))
    chunk = policy.act(see("e", poses))
    validate_action_chunk(chunk, spec)
    assert spec.action.low is not None
    assert spec.action.high is not None
    actions = play(policy, "e", task, poses)
    assert np.all(actions >= np.float32(spec.action.low))
    assert np.all(actions <= np.float32(spec.action.high))


@TASKS
@pytest.mark.parametrize("name", END_EFFECTORS)
def test_end_effector_plans_are_the_poses_of_the_joint_plans(name: str, task: str, poses: np.ndarray) -> None:
    joints = play(expert(), "e", task, poses)
    actions = play(expert(representation=name), "e", task, poses)
    for step in range(0, 300, 20):
        targets = unpack_action(actions[step], END_EFFECTORS[name])
        for chain, first, target in zip(ARMS, (0, 7), targets, strict=True):
            pose = chain.forward(joints[step, first : first + 6])
            np.testing.assert_allclose(target.pose.position, pose.position, atol=1e-5)
            np.testing.assert_allclose(target.pose.rotation, pose.rotation, atol=1e-5)
            assert target.closes == (joints[step, first + 6] < 0.3)


def test_a_representation_without_a_plan_is_refused_by_name() -> None:
    with pytest.raises(PolicyLoadError, match=r"'robotwin\.qpos-v1'; only in joint_abs_14, xvla_ee_rot6d_20"):
        expert(representation="robotwin.qpos-v1")


def test_interleaved_episodes_get_the_plans_they_get_alone() -> None:
    alone = play(expert(), "a", "transfer-cube", CUBE), play(expert(), "b", "insertion", PEG_AND_SOCKET)
    policy = expert()
    policy.reset(EpisodeContext("a", "transfer-cube", horizon=300))
    policy.reset(EpisodeContext("b", "insertion", horizon=300))
    for step in range(0, 300, 50):
        first = policy.act(see("a", CUBE, step)).actions
        second = policy.act(see("b", PEG_AND_SOCKET, step)).actions
        np.testing.assert_array_equal(first, alone[0][step : step + 50])
        np.testing.assert_array_equal(second, alone[1][step : step + 50])


def test_an_ended_episode_leaves_nothing_behind() -> None:
    policy = expert()
    play(policy, "e", "transfer-cube", CUBE)
    assert not any(getattr(policy, name) for name in ("_episodes", "_plans"))


def test_a_second_reset_plans_anew() -> None:
    policy = expert()
    play_once = play(policy, "e", "transfer-cube", CUBE)
    policy.reset(EpisodeContext("e", "transfer-cube", horizon=300))
    policy.act(see("e", CUBE))
    elsewhere = CUBE + np.eye(14, dtype=np.float32)[0] * 0.05
    policy.reset(EpisodeContext("e", "transfer-cube", horizon=300))
    assert not np.array_equal(policy.act(see("e", elsewhere)).actions, play_once[:50])


def test_past_the_plan_the_last_targets_are_held() -> None:
    policy = expert()
    policy.reset(EpisodeContext("e", "transfer-cube", horizon=300))
    actions = policy.act(see("e", CUBE, 290)).actions
    assert len(actions) == 50
    assert np.all(actions[10:] == actions[9])


def test_blur_is_drawn_from_the_policy_seed_alone() -> None:
    runs = [play(expert(blur_mm=5.0), "e", "transfer-cube", CUBE, policy_seed=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_without_blur_the_seed_changes_nothing() -> None:
    runs = [play(expert(), "e", "transfer-cube", CUBE, policy_seed=seed) for seed in (1, 2)]
    np.testing.assert_array_equal(*runs)


def test_an_unknown_task_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no plan for task 'stack'"):
        play(expert(), "e", "stack", CUBE)


def test_hold_still_returns_the_joints_it_sees() -> None:
    policy = make_policy(f"{POLICIES / 'hold_still.py'}:HoldStill", {})
    validate_policy_capabilities(SPEC, policy.load(SessionContext("s", "", SPEC)))
    seen = see("e", CUBE)
    chunk = policy.act(seen)
    validate_action_chunk(chunk, SPEC)
    assert chunk.actions.shape == (10, 14)
    assert all(np.array_equal(action, seen.features["state.joints"]) for action in chunk.actions)
