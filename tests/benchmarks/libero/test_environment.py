"""Lanes of LIBERO beside upstream's own loop, and what they refuse."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proctor.benchmarks.libero import FAMILY
from proctor.benchmarks.registry import find_family, find_version
from proctor.errors import EnvironmentMissing

from .conftest import Probe

VERSION = find_version("libero-v1")
DEFINITION = VERSION.definition

# --- without a simulator ---------------------------------------------------------------------------


def test_importing_the_family_and_its_settings_imports_no_simulator() -> None:
    code = "import sys; import proctor.benchmarks.libero.settings; sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_registry_finds_the_family_by_name() -> None:
    assert find_family("libero") is FAMILY


def test_opening_a_lane_without_the_simulator_names_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentMissing, match=r"not installed .* proctor env build libero"):
        FAMILY.open(DEFINITION, DEFINITION.tasks[0], DEFINITION.actions[0])


# --- in the simulator ------------------------------------------------------------------------------


@pytest.mark.sim
def test_what_is_seen_in_chunks_is_bit_for_bit_what_upstreams_loop_sees_at_every_step(probe: Probe) -> None:
    found = probe("fidelity goal-1 1 12")
    assert found["differing"] == []
    assert found["compared"] > 80


@pytest.mark.sim
def test_the_moments_of_reading_are_those_of_upstreams_own_sensor(probe: Probe) -> None:
    assert probe("moments")


@pytest.mark.sims
@pytest.mark.parametrize(
    "episode",
    [
        "spatial-4 0 220",  # a bowl in a drawer
        "object-0 2 280",
        "goal-7 1 300",  # a stove that glows
        "10-3 1 520",  # a drawer that starts open
        "90-05 3 400",
    ],
)
def test_whole_episodes_are_bit_for_bit_upstreams(probe: Probe, episode: str) -> None:
    assert probe(f"fidelity {episode}")["differing"] == []


@pytest.mark.sims
@pytest.mark.parametrize(
    "episode",
    [
        "spatial-lan-2 1 100",
        "object-object-0 0 100",
        "goal-swap-1 3 100",
        "10-task-3 1 100",
        "goal-with-mug-3 2 100",
    ],
)
def test_so_are_episodes_under_every_perturbation(probe: Probe, episode: str) -> None:
    assert probe(f"fidelity {episode}")["differing"] == []


@pytest.mark.sim
def test_targets_lead_where_upstreams_controller_is_led_by_them(probe: Probe) -> None:
    found = probe("targets goal-1 1 4")
    assert found["differing"] == []
    assert found["compared"] > 40


@pytest.mark.sims
@pytest.mark.parametrize("episode", ["spatial-0 3 220", "10-9 2 100"])
def test_so_they_do_over_whole_episodes(probe: Probe, episode: str) -> None:
    assert probe(f"targets {episode}")["differing"] == []


@pytest.mark.sims
def test_a_target_is_where_a_displacement_would_have_led(probe: Probe) -> None:
    assert 0 < probe("target_or_displacement goal-1") < 1e-3


@pytest.mark.sim
def test_a_process_holds_one_lane_and_a_lane_after_another_renders_as_in_a_new_process(probe: Probe) -> None:
    found = probe("one_lane")
    assert found["second"].startswith("BenchmarkFault: a process holds one LIBERO lane")
    assert found["frame"] == probe("alone")


@pytest.mark.sims
def test_without_these_rules_a_lane_that_is_closed_late_spoils_the_frames_of_another(probe: Probe) -> None:
    """So the test above can fail."""
    before, after = probe("freed_late")
    assert before == probe("alone")
    assert after != before


@pytest.mark.sim
def test_what_it_does_not_do_is_refused_by_name(probe: Probe) -> None:
    said = probe("refusals")
    for case, message in {
        "suite": "UnknownNameError: unknown LIBERO suite 'libero_gaol'; did you mean 'libero_goal'",
        "task": "UnknownNameError: unknown task of libero_goal 'put_the_bowl_on_the_stov'; did you mean",
        "files": "BenchmarkFault: task put_the_bowl_on_the_stove of libero_goal_env: the simulator's package",
        "sentence": "BenchmarkFault: task goal-1: the version says 'put the bowl on the fridge', the simul",
        "setting": "BenchmarkFault: task goal-1, settings",
        "version": "EnvironmentMissing: mujoco is 2.3.7 in ",
        "choice": "BenchmarkFault: unknown instructions in libero-v1, settings 'of the sky'",
        "feature": "UnknownNameError: unknown feature of LIBERO 'state.jointz'",
        "action": "UnknownNameError: unknown action representation of LIBERO 'libero.delta-eff-v1'; did you",
        "camera": "UnknownNameError: unknown camera of images.primary 'agentvue'; did you mean 'agentview'",
        "index": "BenchmarkFault: episode goal-1/0/0: start 50 is out of range; upstream has 50, from 0",
        "draws": "BenchmarkFault: episode goal-1/0/0, settings",
        "predicate": "BenchmarkFault: episode goal-1/0/0: predicate 'other'",
    }.items():
        assert said[case].startswith(message), case


@pytest.mark.sims
def test_a_lane_that_breaks_in_reset_and_does_not_close_does_not_keep_the_next_from_opening(
    probe: Probe,
) -> None:
    assert probe("broken") == {"said": ["the stove fell off"] * 2, "another lane starts": True}


@pytest.mark.sim
def test_a_goal_that_holds_while_things_settle_counts_as_the_version_says(probe: Probe) -> None:
    assert probe("settling") == {"counts": True, "is ignored": False}


@pytest.mark.sims
def test_the_fast_profile_changes_frames_and_nothing_else(probe: Probe) -> None:
    found = probe("fast_profile")
    assert found["same state"]
    assert 0 < found["mean difference"] < 30
    assert found["speed-up"] > 1.3


@pytest.mark.sim
def test_sentences_of_the_scene_follow_perturbations_and_those_of_the_file_name_do_not(probe: Probe) -> None:
    assert probe("sentences") == {
        "libero_goal, of the scene": "open the middle layer of the drawer",
        "libero_goal, of the file name": "open the middle drawer of the cabinet",
        "libero_goal_lan, of the scene": "open the cabinet’s middle drawer",
        "libero_goal_lan, of the file name": "open the middle drawer of the cabinet",
        "libero_goal_task, of the scene": "open the bottom drawer of the cabinet",
        "libero_goal_task, of the file name": "open the middle drawer of the cabinet",
    }


@pytest.mark.sim
def test_recorded_starts_are_rebuilt(probe: Probe) -> None:
    assert probe("starts goal-1") <= DEFINITION.initial_state_tolerance


@pytest.mark.sims
def test_recorded_starts_of_every_kind_of_scene_are_rebuilt(probe: Probe) -> None:
    tasks = "spatial-4 object-3 10-2 10-3 10-9 90-00 90-50 90-80 spatial-swap-0 object-object-0 goal-task-3"
    assert probe(f"starts {tasks}") <= DEFINITION.initial_state_tolerance


@pytest.mark.sims
@pytest.mark.parametrize("version", ["libero-v1", "libero-xvla-v1"])
def test_the_family_conforms(probe: Probe, version: str) -> None:
    assert probe(f"conformance {version} goal-1") == []


@pytest.mark.sim
def test_the_simulator_is_the_one_the_versions_are_defined_on(probe: Probe) -> None:
    assert probe("packages").items() >= DEFINITION.packages.items()
