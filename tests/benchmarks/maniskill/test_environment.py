"""Lanes of ManiSkill beside upstream's own loop, and what they refuse."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proctor.benchmarks.maniskill import FAMILY
from proctor.benchmarks.maniskill.tasks import TASKS
from proctor.benchmarks.registry import find_family, find_version
from proctor.errors import EnvironmentMissing

from .conftest import Probe

VERSION = find_version("maniskill-v1")
DEFINITION = VERSION.definition
TASK_IDS = [task.id for task in DEFINITION.tasks]

# --- without a simulator ---------------------------------------------------------------------------


def test_importing_the_family_and_its_settings_imports_no_simulator() -> None:
    code = "import sys; import proctor.benchmarks.maniskill.settings; sys.exit('gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_registry_finds_the_family_by_name() -> None:
    assert find_family("maniskill") is FAMILY


def test_opening_a_lane_without_the_simulator_names_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentMissing, match=r"not installed .* proctor env build maniskill"):
        FAMILY.open(DEFINITION, DEFINITION.tasks[0], DEFINITION.actions[0])


def test_eight_tasks_need_nothing_but_the_package() -> None:
    assert len(TASKS) == len(TASK_IDS) == 8


# --- in the simulator ------------------------------------------------------------------------------


@pytest.mark.sims
@pytest.mark.parametrize("task", TASK_IDS)
def test_whole_episodes_in_chunks_are_bit_for_bit_upstreams_observed_at_every_step(
    probe: Probe, task: str
) -> None:
    found = probe(f"fidelity maniskill-v1 {task} 1 30")
    assert found["differing"] == []
    assert found["compared"] > 300


@pytest.mark.sims
@pytest.mark.parametrize("task", ["pick-cube", "peg-insertion-side"])
def test_so_they_are_with_a_camera_on_the_hand(probe: Probe, task: str) -> None:
    assert probe(f"fidelity maniskill-wrist-v1 {task} 0 20")["differing"] == []


@pytest.mark.sims
@pytest.mark.parametrize("task", ["pick-cube", "peg-insertion-side", "plug-charger"])
def test_an_episode_is_that_of_a_new_process_whatever_was_before_or_is_beside_it(
    probe: Probe, task: str
) -> None:
    expected = probe(f"alone {task} 3")
    for case, found in probe(f"after {task} 3").items():
        assert found == expected, case


@pytest.mark.sims
@pytest.mark.parametrize("version", ["maniskill-v1", "maniskill-wrist-v1"])
def test_a_lane_keeps_the_contract(probe: Probe, version: str) -> None:
    assert probe(f"conformance {version} stack-cube") == []


@pytest.mark.sims
def test_a_turn_goes_the_other_way_as_upstream_scales_it_by_its_lower_bound(probe: Probe) -> None:
    assert -0.5 < probe("turns") < -0.15


@pytest.mark.sims
def test_a_waiting_robot_stays(probe: Probe) -> None:
    assert max(probe("holding")) < 1e-3


@pytest.mark.sims
def test_what_it_does_not_do_is_refused_by_name(probe: Probe) -> None:
    said = probe("refusals")
    for case, message in {
        "action": "UnknownNameError: unknown action representation of ManiSkill 'maniskill.pd'; did you mean",
        "feature": "UnknownNameError: unknown feature of ManiSkill 'state.joint'; did you mean",
        "camera": "UnknownNameError: unknown camera of feature images.primary: 'hand_camera'",
        "version": "EnvironmentMissing: sapien is 3.0.3 in ",
        "predicate": "BenchmarkFault: episode pick-cube/0/0: predicate 'other'",
        "unasked": "UnknownNameError: unknown feature 'images.wrist'",
    }.items():
        assert said[case].startswith(message), case
