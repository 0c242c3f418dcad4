"""The aloha family: what its version says, and what its lanes do beside upstream's own environment."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.actions import find_representation
from proctor.actions.differential_ik import REACHED_M, REACHED_RAD
from proctor.actions.robots import vx300s
from proctor.benchmarks.aloha import FAMILY
from proctor.benchmarks.definition import ActionDefinition
from proctor.benchmarks.registry import find_family, find_version
from proctor.benchmarks.spec import find_action
from proctor.errors import EnvironmentMissing
from proctor.launch import environments, graphics

Probe = Callable[[str], Any]

HERE = Path(__file__).parent
VERSION = find_version("aloha-sim-v1")
DEFINITION = VERSION.definition
END_EFFECTORS = ["xvla_ee_rot6d_20", "xvla_ee_rot6d_20_legacy"]


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """What a function of `aloha_probe.py` finds in the simulator's own interpreter, given its arguments.

    Each runs once per test run: parallel test processes share what it found.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def find(name: str) -> Any:
        found = shared / f"aloha-{name}.json"
        with found.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not found.exists():
                found.write_text(_run_probe(name))
        return json.loads(found.read_text())

    return find


def _run_probe(name: str) -> str:
    environ = {
        **os.environ,
        "PYTHONPATH": str(HERE.parents[1] / "src"),
        "MUJOCO_GL": graphics.choose().backend,
    }
    command = [environments.interpreter("aloha"), HERE / "aloha_probe.py", *name.split()]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- the version -----------------------------------------------------------------------------------


def test_each_task_has_fifty_episodes_seeded_by_their_index() -> None:
    for task in ("transfer-cube", "insertion"):
        own = [episode for episode in VERSION.episodes if episode.task == task]
        assert [episode.seed for episode in own] == list(range(50))


def test_every_episode_carries_its_tasks_instruction_and_horizon() -> None:
    tasks = {task.id: task for task in DEFINITION.tasks}
    for episode in VERSION.episodes:
        (segment,) = episode.segments
        assert (segment.instruction, segment.horizon) == (tasks[episode.task].instruction, 300)


def test_recorded_starts_hold_joints_then_object_poses() -> None:
    sizes = {"transfer-cube": 14 + 7, "insertion": 14 + 14}
    for episode in VERSION.episodes:
        assert episode.initial_state is not None
        assert len(episode.initial_state) == sizes[episode.task]
        np.testing.assert_array_equal(episode.initial_state[:6], vx300s.START_JOINTS)


def test_objects_start_where_the_benchmark_places_them() -> None:
    for episode in VERSION.episodes:
        assert episode.initial_state is not None
        x, y, z = episode.initial_state[14:17]
        nearest = 0.0 if episode.task == "transfer-cube" else 0.1
        assert nearest <= x <= 0.2
        assert 0.4 <= y <= 0.6
        assert z == 0.05


def test_actions_are_joints_by_default_and_end_effectors_in_two_conventions() -> None:
    names = [action.representation for action in DEFINITION.actions]
    assert names == ["joint_abs_14", *END_EFFECTORS]


@pytest.mark.parametrize("action", DEFINITION.actions, ids=lambda action: action.representation)
def test_every_action_is_the_published_representation(action: ActionDefinition) -> None:
    representation = find_representation(action.representation)
    assert (action.dimension, action.dtype) == (representation.dimension, representation.dtype)
    assert action.limits == "pass"


def test_limits_of_end_effectors_hold_everything_an_arm_can_reach_above_the_table() -> None:
    """From the shoulder to the fingertips, stretched; turns and grippers have their natural ranges."""
    length = 0.3059 + 0.2 + 0.1 + 0.069744 + vx300s.GRIP_M
    action = find_action(DEFINITION, END_EFFECTORS[0])
    low, high = np.array(action.low), np.array(action.high)
    for arm, x in ((slice(0, 10), -vx300s.BASE_X_M), (slice(10, 20), vx300s.BASE_X_M)):
        shoulder = np.array([x, vx300s.BASE_Y_M, 0.12705])
        np.testing.assert_allclose(high[arm][:3], shoulder + length, atol=0.011)
        np.testing.assert_allclose(low[arm][:2], shoulder[:2] - length, atol=0.011)
        assert low[arm][2] == 0
        assert (low[arm][3:].tolist(), high[arm][3:].tolist()) == ([-1.0] * 6 + [0.0], [1.0] * 7)


def test_both_conventions_of_end_effectors_have_the_same_limits() -> None:
    physical, legacy = (find_action(DEFINITION, name) for name in END_EFFECTORS)
    assert (physical.low, physical.high) == (legacy.low, legacy.high)


def test_each_end_effector_action_has_a_state_in_its_own_convention() -> None:
    states = {feature.name: feature for feature in DEFINITION.features if feature.kind == "state"}
    for name in ("state.ee_rot6d", "state.ee_rot6d_legacy"):
        assert (states[name].dtype, states[name].shape, states[name].required) == ("float32", (20,), False)


def test_limits_are_the_joint_ranges_of_both_arms_and_the_grippers_opening() -> None:
    action = DEFINITION.actions[0]
    low = [*(hinge.low for hinge in vx300s.HINGES), 0.0]
    high = [*(hinge.high for hinge in vx300s.HINGES), 1.0]
    assert list(action.low) == low * 2
    assert list(action.high) == high * 2
    assert action.limits == "pass"


def test_cameras_are_optional_and_joints_always_sent() -> None:
    required = {feature.name for feature in DEFINITION.features if feature.required}
    assert required == {"state.joints", "language.instruction"}
    images = [feature for feature in DEFINITION.features if feature.kind == "image"]
    assert [image.camera for image in images] == ["top", "angle", "front_close"]
    assert {image.shape for image in images} == {(480, 640, 3)}


# --- without a simulator ---------------------------------------------------------------------------


def test_importing_the_family_imports_no_simulator() -> None:
    code = (
        "import sys; from proctor.benchmarks.aloha import FAMILY; "
        "sys.exit(any(name in sys.modules for name in ('mujoco', 'dm_control', 'gym_aloha')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_registry_finds_the_family_by_name() -> None:
    assert find_family("aloha") is FAMILY


def test_opening_a_lane_without_the_simulator_names_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentMissing, match=r"not installed .* proctor env build aloha"):
        FAMILY.open(DEFINITION, DEFINITION.tasks[0], DEFINITION.actions[0])


def test_packages_that_are_not_installed_are_left_out() -> None:
    assert FAMILY.packages() == {}


# --- in the simulator ------------------------------------------------------------------------------


@pytest.mark.sim
@pytest.mark.parametrize("task", ["transfer-cube", "insertion"])
@pytest.mark.parametrize("chunk", [1, 4, 10])
def test_frames_and_joints_are_upstreams_bit_for_bit(probe: Probe, task: str, chunk: int) -> None:
    assert probe("frames")[f"{task} chunk {chunk}"] == []


@pytest.mark.sim
@pytest.mark.parametrize("task", ["transfer-cube", "insertion"])
def test_a_start_does_not_depend_on_what_ran_before(probe: Probe, task: str) -> None:
    fresh, used = probe("purity")[task]
    assert fresh == used


@pytest.mark.sim
@pytest.mark.parametrize("side", ["-1", "+1"])
def test_the_simulator_itself_holds_targets_within_the_limits(probe: Probe, side: str) -> None:
    assert probe("beyond_limits")[side] < 1e-5


@pytest.mark.sim
def test_the_fast_profile_changes_frames_and_nothing_else(probe: Probe) -> None:
    found = probe("fast_profile")
    assert found["same state"]
    assert 0 < found["mean difference"] < 5
    assert found["speed-up"] > 1.5


@pytest.mark.sim
@pytest.mark.parametrize("quantity", ["position", "rotation", "jacobian", "limits"])
def test_our_kinematics_are_the_simulators(probe: Probe, quantity: str) -> None:
    assert probe("kinematics")[quantity] < 1e-12


@pytest.mark.sim
@pytest.mark.parametrize("quantity", ["position", "rotation"])
def test_end_effectors_are_seen_where_the_simulator_has_them(probe: Probe, quantity: str) -> None:
    """As float32."""
    assert probe("end_effectors")[f"seen {quantity}"] < 1e-6


@pytest.mark.sim
@pytest.mark.parametrize(("quantity", "tolerance"), [("position", REACHED_M), ("rotation", REACHED_RAD)])
def test_joint_targets_put_the_simulators_end_effectors_where_they_were_sent(
    probe: Probe, quantity: str, tolerance: float
) -> None:
    assert probe("end_effectors")[f"given {quantity}"] < tolerance


@pytest.mark.sim
@pytest.mark.parametrize(("task", "least"), [("transfer-cube", 48), ("insertion", 40)])
def test_the_expert_succeeds(probe: Probe, task: str, least: int) -> None:
    steps = probe("expert joint_abs_14 50")[task]
    assert len(steps) == 50
    assert sum(step > 0 for step in steps) >= least


@pytest.mark.sim
@pytest.mark.parametrize("task", ["transfer-cube", "insertion"])
@pytest.mark.parametrize("representation", END_EFFECTORS)
def test_the_expert_succeeds_through_end_effectors(probe: Probe, representation: str, task: str) -> None:
    steps = probe(f"expert {representation} 5")[task]
    assert len(steps) == 5
    assert all(step > 0 for step in steps)


@pytest.mark.sim
@pytest.mark.parametrize("representation", END_EFFECTORS)
def test_an_unreachable_pose_is_in_the_record(probe: Probe, representation: str) -> None:
    found = probe(f"unreachable {representation}")
    assert found["events"] == {"unreachable pose: left arm": 20}
    assert found["metrics"]["ik_failed"] == 20
    assert found["metrics"]["ik_residual_mm"] > 1000
    assert (found["outcome"], found["out of limits"]) == ("failure", 20)


@pytest.mark.sim
@pytest.mark.parametrize("representation", END_EFFECTORS)
def test_an_arm_out_of_reach_still_grips_and_leaves_the_other_alone(
    probe: Probe, representation: str
) -> None:
    found = probe(f"unreachable {representation}")
    assert found["finite"]
    assert found["left gripper"] > 0.5
    assert found["right arm moved"] < 0.05


@pytest.mark.sim
@pytest.mark.parametrize("representation", END_EFFECTORS)
def test_six_numbers_that_are_no_rotation_are_the_policys_error(probe: Probe, representation: str) -> None:
    found = probe(f"no_rotation {representation}")
    assert (found["outcome"], found["steps"]) == ("policy_error", 0)
    assert found["error"].startswith(f"{representation}: left arm: not a rotation")


@pytest.mark.sim
@pytest.mark.parametrize("promise", ["hold joints", "hold last", "poses", "cube padding", "reward"])
def test_a_lane_keeps_its_own_promises(probe: Probe, promise: str) -> None:
    assert probe("manners")[promise]


@pytest.mark.sim
@pytest.mark.parametrize("representation", ["joint_abs_14", *END_EFFECTORS])
def test_the_family_conforms(probe: Probe, representation: str) -> None:
    assert probe(f"conformance {representation}") == []
