"""Lanes of LIBERO-plus beside upstream's own loop, and what they refuse."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proctor.benchmarks.libero_plus import FAMILY
from proctor.benchmarks.registry import find_family, find_version
from proctor.errors import EnvironmentMissing

from .conftest import Probe

DEFINITION = find_version("libero-plus-v1").definition

# --- without a simulator ---------------------------------------------------------------------------


def test_importing_the_family_and_its_settings_imports_no_simulator() -> None:
    code = "import sys; import proctor.benchmarks.libero_plus.settings; sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_registry_finds_the_family_by_name() -> None:
    assert find_family("libero_plus") is FAMILY


def test_opening_a_lane_without_the_simulator_names_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentMissing, match=r"not installed .* proctor env build libero-plus"):
        FAMILY.open(DEFINITION, DEFINITION.tasks[0], DEFINITION.actions[0])


# --- in the simulator ------------------------------------------------------------------------------


@pytest.mark.sims
@pytest.mark.parametrize(
    "episode",
    [
        "goal-9-camera view_359_15_100_0_0_initstate_0 300",
        "10-2-robot view_0_0_100_0_0_initstate_3 60",
        "spatial-2-language language_1_view_0_0_100_0_0_initstate_0 60",
        "goal-9-layout moved_level1_sample1 60",
        "object-1-noise view_0_0_100_0_0_initstate_0_noise_14 30",  # Gaussian
        "object-1-noise view_0_0_100_0_0_initstate_0_noise_22 30",  # zoom
        "object-1-noise view_0_0_100_0_0_initstate_0_noise_33 30",  # fog, drawn anew at every step
        "object-1-noise view_0_0_100_0_0_initstate_0_noise_43 10",  # glass, likewise
    ],
)
def test_what_is_seen_in_chunks_is_bit_for_bit_what_upstreams_loop_sees(probe: Probe, episode: str) -> None:
    assert probe(f"fidelity {episode}")["differing"] == []


@pytest.mark.sims
def test_noise_that_is_not_looked_at_is_drawn_all_the_same(probe: Probe) -> None:
    left_elsewhere = probe("draws")
    assert len(left_elsewhere) >= 4
    assert not any(left_elsewhere.values())


@pytest.mark.sims
def test_a_process_holds_one_lane_and_a_variant_after_another_looks_as_it_does_alone(probe: Probe) -> None:
    found = probe("one_lane")
    assert found["second"].startswith("BenchmarkFault: a process holds one LIBERO lane")
    assert found["same"]


@pytest.mark.sims
def test_what_it_does_not_do_is_refused_by_name(probe: Probe) -> None:
    said = probe("refusals")
    for case, message in {
        "unknown": "BenchmarkFault: variant 'fog_9' says nothing known; valid: language_N",
        "dimension": "BenchmarkFault: episode goal-1-camera/0/0: variant 'light_8' is one of light, the",
        "setting": "BenchmarkFault: unknown key in episode goal-1-camera/0/0, settings 'index'. Valid",
        "sentence": "BenchmarkFault: episode goal-1-camera/0/0: the version says 'open the fridge', the sim",
        "predicate": "BenchmarkFault: episode goal-1-camera/0/0: predicate 'other'",
        "scene": "BenchmarkFault: the simulator's package lacks bddl_files/libero_goal/put_the_bowl_on",
        "suite": "BenchmarkFault: the simulator's package lacks bddl_files/libero_gaol/",
        "settling": "BenchmarkFault: libero-plus-v1: settle_steps is 0; LIBERO-plus needs at least 1",
        "version": "EnvironmentMissing: mujoco is 3.3.7 in ",
    }.items():
        assert said[case].startswith(message), case
    assert "did you mean 'put_the_bowl_on_the_stove_language_" in said["scene"]
    assert said["suite"].endswith("did you mean 'libero_goal'?")


@pytest.mark.sims
def test_an_asset_that_is_missing_is_named_with_the_command_that_says_how_to_get_it(probe: Probe) -> None:
    said = probe("refusals")
    for case, file in {
        "light": "scenes/lights/tabletop_light",
        "background": "scenes/liv250/liv_table",
    }.items():
        assert said[case].startswith("EnvironmentMissing: variant ")
        assert file in said[case]
        assert "run proctor env check libero-plus" in said[case]


@pytest.mark.sims
def test_the_version_lists_what_upstreams_package_lists(probe: Probe) -> None:
    assert probe("written")


@pytest.mark.sims
def test_the_family_conforms(probe: Probe) -> None:
    assert probe("conformance goal-9-camera") == []


@pytest.mark.sims
def test_the_oracle_solves_variants(probe: Probe) -> None:
    variants = [
        "object-0-language:language_2_view_0_0_100_0_0_initstate_0",
        "object-0-robot:view_0_0_100_0_0_initstate_11",
        "goal-1-camera:view_0_0_115_0_0_initstate_0",
        "object-0-noise:view_0_0_100_0_0_initstate_0_noise_14",
    ]
    assert all(probe(f"oracle {' '.join(variants)}").values())
