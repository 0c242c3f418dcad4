"""The metaworld family: what its lanes do beside upstream's own environments."""

from __future__ import annotations

import pytest

from proctor.benchmarks.metaworld import FAMILY
from proctor.benchmarks.registry import find_version
from proctor.errors import EnvironmentMissing

from .conftest import Probe

MT10 = find_version("metaworld-mt10-v1")

# --- without a simulator ---------------------------------------------------------------------------


def test_opening_a_lane_without_the_simulator_names_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentMissing, match=r"not installed .* proctor env build metaworld"):
        FAMILY.open(MT10.definition, MT10.definition.tasks[0], MT10.definition.actions[0])


def test_packages_that_are_not_installed_are_left_out() -> None:
    assert "metaworld" not in FAMILY.packages()


# --- in the simulator ------------------------------------------------------------------------------


@pytest.mark.sim
def test_every_task_runs_like_a_new_upstream_environment_whatever_ran_before(probe: Probe) -> None:
    assert probe("purity") == {"unlike upstream": [], "unlike the record": []}


@pytest.mark.sim
def test_what_is_seen_in_chunks_is_what_upstreams_own_loop_shows(probe: Probe) -> None:
    assert probe("fidelity cropped") == {f"cropped, chunk {chunk}": [] for chunk in (1, 4, 10)}


@pytest.mark.sims
@pytest.mark.parametrize("setup", ["as-it-is", "moved", "turned", "four"])
def test_every_camera_set_up_is_upstreams_in_any_chunk(probe: Probe, setup: str) -> None:
    assert probe(f"fidelity {setup}") == {f"{setup}, chunk {chunk}": [] for chunk in (1, 4, 10)}


@pytest.mark.sims
def test_a_whole_episode_is_seen_as_in_upstreams_own_loop(probe: Probe) -> None:
    found = probe("whole_episode")
    assert found["success"]
    assert found["steps"] > 20
    assert found["differing"] == []


@pytest.mark.sim
def test_upstreams_goals_are_set_as_upstream_sets_them(probe: Probe) -> None:
    assert probe("goals") == {"unlike set_task": [], "unlike the record": []}


@pytest.mark.sims
def test_the_goals_written_down_are_those_upstream_draws(probe: Probe) -> None:
    assert probe("drawn_goals") == []


@pytest.mark.sim
def test_the_fast_profile_changes_frames_and_nothing_else(probe: Probe) -> None:
    found = probe("fast_profile")
    assert found["same state"]
    assert 0 < found["mean difference"] < 20
    assert found["speed-up"] > 1.5


@pytest.mark.sim
def test_closing_a_lane_leaves_the_frames_of_another_alone(probe: Probe) -> None:
    assert probe("contexts")


@pytest.mark.sim
def test_the_expert_succeeds(probe: Probe) -> None:
    steps = probe("expert")
    assert len(steps) == 50
    assert sum(step > 0 for step in steps.values()) >= 48


@pytest.mark.sim
def test_a_lane_keeps_its_own_promises(probe: Probe) -> None:
    assert [promise for promise, kept in probe("manners").items() if not kept] == []


@pytest.mark.sim
def test_a_wrong_definition_is_refused_by_name(probe: Probe) -> None:
    found = probe("refusals")
    assert found["task"].startswith("unknown Meta-World task 'pushh-v3'; did you mean 'push-v3'")
    assert found["camera"].startswith("unknown camera of images.primary 'corner5'; did you mean 'corner")
    assert found["feature"].startswith("unknown feature of Meta-World 'state.joints'")
    assert found["setting"].startswith(
        "unknown key in metaworld-mt50-v1, settings 'camras'; did you mean 'cam"
    )
    assert found["representation"].startswith(
        "unknown action representation of Meta-World 'metaworld.delta'; did you mean 'metaworld.delta-eef-v1'"
    )
    assert found["version"].startswith("mujoco is 3.3.")
    assert found["version"].endswith("metaworld-mt50-v1 is defined on 2.3.7")
    assert found["vector"] == "episode push-v3/0/0, settings: random_vector has 1 values; valid: 6"


@pytest.mark.sim
def test_recorded_starts_are_rebuilt(probe: Probe) -> None:
    assert probe("starts") <= MT10.definition.initial_state_tolerance


@pytest.mark.sim
def test_the_family_conforms(probe: Probe) -> None:
    assert probe("conformance") == []


@pytest.mark.sim
def test_the_simulator_is_the_one_the_versions_are_defined_on(probe: Probe) -> None:
    assert probe("packages").items() >= MT10.definition.packages.items()
