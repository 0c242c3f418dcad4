"""Lanes of the tabletop: what they promise beyond the contract, and what they refuse."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proctor.benchmarks.registry import find_family, find_version
from proctor.benchmarks.tabletop import FAMILY
from proctor.errors import EnvironmentMissing

from .conftest import Probe

DEFINITION = find_version("tabletop-heldout-v1").definition
LEVER, BUTTON = "oracle_episode flip-lever-on-the-right", "oracle_episode press-green-button"

# --- without a simulator ---------------------------------------------------------------------------


def test_importing_the_family_and_its_settings_imports_no_simulator() -> None:
    code = "import sys; import proctor.benchmarks.tabletop.settings; sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_registry_finds_the_family_by_name() -> None:
    assert find_family("tabletop") is FAMILY


def test_opening_a_lane_without_the_simulator_names_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentMissing, match=r"mujoco is not installed .* proctor env build tabletop"):
        FAMILY.open(DEFINITION, DEFINITION.tasks[0], DEFINITION.actions[0])


# --- in the simulator ------------------------------------------------------------------------------


@pytest.mark.sim
@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("as shipped", ""),
        ("mujoco", "EnvironmentMissing: mujoco is 3.8.1 in "),
        ("action", "UnknownNameError: unknown action of tabletop 'panda.joint-position-v1'; did you mean"),
        (
            "camera",
            "UnknownNameError: unknown camera of images.exterior 'base_0_rbg'; did you mean 'base_0_rgb'",
        ),
        ("feature", "UnknownNameError: unknown feature of tabletop 'state.joint_positions'; did you mean"),
        ("predicate", "BenchmarkFault: episode press-green-button/0/0: predicate 'other'"),
    ],
)
def test_a_definition_it_does_not_do_is_refused_by_name(probe: Probe, case: str, message: str) -> None:
    said = probe("refusals")[case]
    assert said.startswith(message)
    assert bool(said) is bool(message)


@pytest.mark.sim
def test_a_lane_keeps_its_own_promises(probe: Probe) -> None:
    assert [promise for promise, kept in probe("manners").items() if not kept] == []


@pytest.mark.sim
@pytest.mark.parametrize("case", ["qpos nan", "qvel nan", "qpos 1000000000000.0", "qvel 1000000000000.0"])
def test_diverged_physics_is_a_fault_and_the_next_episode_none(probe: Probe, case: str) -> None:
    found, quantity = probe("divergence"), case.split()[0].upper()
    assert found[case] == f"BenchmarkFault: tabletop: the physics diverged (mjWARN_BAD{quantity})"
    assert found[f"after {case}"] == ""


@pytest.mark.sim
def test_actions_beyond_the_limits_are_clipped_and_every_one_counted(probe: Probe) -> None:
    found = probe("beyond_limits")
    assert found["over"] == {"outcome": "failure", "steps": 16, "out": 16, "clipped": 16}
    assert found["at"] == {"outcome": "failure", "steps": 16, "out": 0, "clipped": 0}
    assert found["same end"]


@pytest.mark.sim
def test_progress_counts_stages_and_then_the_goal(probe: Probe) -> None:
    found = probe(LEVER)
    progress = found["progress"]
    assert progress == sorted(progress)
    assert set(progress) == {0, 1 / 3, 2 / 3, 1}
    assert found["metrics"]["stage.touched"] == found["metrics"]["stage.half_way"] == 1


@pytest.mark.sim
@pytest.mark.parametrize("name", [LEVER, BUTTON])
def test_the_oracle_stays_within_the_velocity_limits(probe: Probe, name: str) -> None:
    found = probe(name)
    assert found["held"] >= DEFINITION.held_steps
    assert found["fastest"] <= 1
    assert found["metrics"]["peak_joint_speed"] < 2.61
    assert found["metrics"]["limited_steps"] == 0


@pytest.mark.sim
@pytest.mark.parametrize("name", [LEVER, BUTTON])
def test_an_episode_is_the_same_bit_for_bit_after_another(probe: Probe, name: str) -> None:
    """Every state of the physics at every step, and both frames at every inference."""
    found = probe(name)
    assert found["digests"]["count"] >= 10
    assert found["again"]


@pytest.mark.sim
def test_an_episode_is_the_same_bit_for_bit_in_another_process(probe: Probe) -> None:
    assert probe(BUTTON)["digests"] == probe(f"{BUTTON} ")["digests"]
