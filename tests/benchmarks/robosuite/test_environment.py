"""Lanes of robosuite beside upstream's own loop, and what they refuse."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from proctor.benchmarks.registry import find_family, find_version
from proctor.benchmarks.robosuite import FAMILY
from proctor.errors import EnvironmentMissing

from .conftest import Probe

DEFINITION = find_version("robosuite-v1").definition

# --- without a simulator ---------------------------------------------------------------------------


def test_importing_the_family_and_its_settings_imports_no_simulator() -> None:
    code = "import sys; import proctor.benchmarks.robosuite.settings; sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_registry_finds_the_family_by_name() -> None:
    assert find_family("robosuite") is FAMILY


def test_opening_a_lane_without_the_simulator_names_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentMissing, match=r"not installed .* proctor env build robosuite"):
        FAMILY.open(DEFINITION, DEFINITION.tasks[0], DEFINITION.actions[0])


# --- in the simulator ------------------------------------------------------------------------------


@pytest.mark.sim
def test_what_is_seen_in_chunks_is_bit_for_bit_what_upstreams_loop_sees_at_every_step(probe: Probe) -> None:
    found = probe("fidelity lift 1 10")
    assert found["differing"] == []
    assert found["compared"] > 90


@pytest.mark.sims
@pytest.mark.parametrize(
    "episode",
    [
        "lift 0 400",  # a cube of a size of its own
        "door 4 500",  # a door that stands elsewhere in every model
        "two-arm-handover 6 500",  # a hammer of a size and a weight of its own
        "stack 1 60",
        "can 2 60",
        "milk 2 60",
        "bread 2 60",
        "cereal 2 60",
        "square 3 60",
        "two-arm-lift 5 60",
        "two-arm-transport 7 60",
    ],
)
def test_episodes_are_bit_for_bit_upstreams_the_first_three_to_their_end(probe: Probe, episode: str) -> None:
    assert probe(f"fidelity {episode}")["differing"] == []


@pytest.mark.sim
def test_the_moments_of_reading_are_those_of_upstreams_own_sensor(probe: Probe) -> None:
    assert probe("moments")


@pytest.mark.sim
def test_frames_are_those_of_a_new_process_whichever_lanes_were_open_or_closed_before(probe: Probe) -> None:
    found = probe("together")
    assert {task: set(frames) for task, frames in found.items()} == {
        task: {probe(f"alone {task} 0")} for task in ("lift", "door")
    }


@pytest.mark.sims
def test_upstreams_own_frames_change_when_garbage_is_collected_unless_its_renderer_frees_contexts_in_time(
    probe: Probe,
) -> None:
    found = probe("collected")
    assert found["mjviewer"] > 10
    assert found["mujoco"] == 0


@pytest.mark.sim
def test_one_context_renders_models_whose_things_differ_in_size(probe: Probe) -> None:
    assert probe("contexts") == {"contexts": 1, "sizes": 3}


@pytest.mark.sim
def test_the_controller_that_versions_spell_out_is_upstreams_default(probe: Probe) -> None:
    found = probe("controller")
    assert all(json.loads(json.dumps(ours)) == found["upstream's"] for ours in found["ours"])


@pytest.mark.sim
def test_what_it_does_not_do_is_refused_by_name(probe: Probe) -> None:
    said = probe("refusals")
    for case, message in {
        "task": "UnknownNameError: unknown robosuite task 'Lfit'; did you mean 'Lift'? Valid: Door, Lift,",
        "no gripper": "BenchmarkFault: task lift: robosuite takes 6 numbers, robosuite.delta-eef-v1 has 7",
        "pose": "UnknownNameError: unknown body or site of Lift 'cube_mian'; did you mean 'cube_main'",
        "setting": "BenchmarkFault: unknown key in task lift, settings 'robot'. Valid: environment, poses",
        "mujoco": "EnvironmentMissing: mujoco is 3.8.1 in ",
        "robosuite": "EnvironmentMissing: robosuite is 1.5.2 in ",
        "robot": "BenchmarkFault: unknown robots[0] in robosuite-v1, settings 'Sawyer'. Valid: Panda",
        "controller": "BenchmarkFault: robosuite-v1, settings: Expected `int`, got `str` - at `$.controller",
        "feature": "UnknownNameError: unknown feature of robosuite 'state.jointz'",
        "camera": "UnknownNameError: unknown camera of images.primary 'agentvue'; did you mean 'agentview'",
        "representation": "UnknownNameError: unknown action representation of robosuite with 1 robots "
        "'robosuite.two-arm-delta-eef-v1'; did you mean 'robosuite.delta-eef-v1'",
        "orientation": "BenchmarkFault: feature images.primary: orientation 'upright'; family robosuite",
        "settling": "BenchmarkFault: settle_steps 10: family robosuite starts settled; valid: 0",
        "seed": "BenchmarkFault: episode lift/0/0: seed -1; valid: 0 and above",
        "predicate": "BenchmarkFault: episode lift/0/0: predicate 'other'",
    }.items():
        assert said[case].startswith(message), case
    assert said["mujoco"].endswith("robosuite-v1 is defined on 4.0.0")
    assert said["robosuite"].endswith("robosuite-v1 is defined on 1.4.0")


@pytest.mark.sim
def test_what_upstream_raises_in_a_reset_is_the_benchmarks_fault_and_the_lane_goes_on(probe: Probe) -> None:
    said = probe("refusals")
    assert said["raises in reset"].startswith("BenchmarkFault: Lift with seed ")
    assert said["raises in reset"].endswith("raised RandomizationError: Cannot place all objects ):")
    assert said["afterwards"] == "starts"


@pytest.mark.sim
def test_recorded_starts_are_rebuilt(probe: Probe) -> None:
    assert probe("starts lift") <= DEFINITION.initial_state_tolerance


@pytest.mark.sims
def test_recorded_starts_of_every_task_are_rebuilt(probe: Probe) -> None:
    two = find_version("robosuite-two-arm-v1").definition
    tasks = " ".join(task.id for task in (*DEFINITION.tasks, *two.tasks))
    assert probe(f"starts {tasks}") <= DEFINITION.initial_state_tolerance


@pytest.mark.sims
def test_the_fast_profile_changes_frames_and_nothing_else(probe: Probe) -> None:
    found = probe("fast_profile")
    assert found["same state"]
    assert 0 < found["mean difference"] < 40


@pytest.mark.sims
@pytest.mark.parametrize("task", ["lift", "door", "two-arm-handover"])
def test_the_family_conforms(probe: Probe, task: str) -> None:
    assert probe(f"conformance {task}") == []


@pytest.mark.sim
def test_the_simulator_is_the_one_the_versions_are_defined_on(probe: Probe) -> None:
    assert probe("packages") == DEFINITION.packages
