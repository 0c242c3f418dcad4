"""The metaworld family: what its versions say, and what its lanes do beside upstream's own environments."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor.benchmarks.freezing import episode_seed
from proctor.benchmarks.metaworld import FAMILY
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.selection import suite_tasks
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import EnvironmentMissing
from proctor.launch import environments, graphics

Probe = Callable[[str], Any]

HERE = Path(__file__).parent
PACKAGE = Path(proctor.__file__).parent
MT10, MT50 = find_version("metaworld-mt10-v1"), find_version("metaworld-mt50-v1")
BOTH = pytest.mark.parametrize("version", [MT10, MT50], ids=["mt10", "mt50"])
GROUPS = {"easy": 28, "medium": 11, "hard": 6, "very-hard": 5}


@pytest.fixture(scope="session")
def probe() -> Probe:
    """What a function of `metaworld_probe.py` finds in the simulator's own interpreter.

    PROCTOR_TEST_METAWORLD_PYTHON names another interpreter than that of the built environment.
    """
    named = os.environ.get("PROCTOR_TEST_METAWORLD_PYTHON")
    python = Path(named) if named else environments.interpreter("metaworld")
    environ = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "MUJOCO_GL": graphics.choose().backend}

    def find(name: str) -> Any:
        command = [python, HERE / "metaworld_probe.py", name]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return find


# --- the versions ----------------------------------------------------------------------------------


@BOTH
def test_each_task_has_fifty_episodes_seeded_by_the_rule(version: BenchmarkVersion) -> None:
    assert set(Counter(episode.task for episode in version.episodes).values()) == {50}
    for episode in version.episodes:
        assert episode.seed == episode_seed("metaworld", episode.task, episode.index)


@BOTH
def test_every_episode_carries_its_tasks_instruction_and_horizon(version: BenchmarkVersion) -> None:
    tasks = {task.id: task for task in version.definition.tasks}
    for episode in version.episodes:
        (segment,) = episode.segments
        assert (segment.instruction, segment.horizon) == (tasks[episode.task].instruction, 500)


@BOTH
def test_every_start_is_recorded(version: BenchmarkVersion) -> None:
    assert all(episode.initial_state for episode in version.episodes)


@BOTH
def test_starts_of_a_task_differ(version: BenchmarkVersion) -> None:
    starts = {episode.initial_state for episode in version.episodes}
    assert len(starts) == len(version.episodes)


def test_the_episodes_of_mt10_are_those_of_mt50() -> None:
    shared = {episode.id: episode for episode in MT50.episodes}
    assert all(shared[episode.id] == episode for episode in MT10.episodes)


def test_the_versions_differ_in_their_tasks_alone() -> None:
    told_apart = {"id", "title", "description", "tasks", "suites"}
    for field in type(MT10.definition).__struct_fields__:
        if field not in told_apart:
            assert getattr(MT10.definition, field) == getattr(MT50.definition, field), field


def test_mt10_is_the_standard_list() -> None:
    assert [task.id for task in MT10.definition.tasks] == [
        "reach-v3",
        "push-v3",
        "pick-place-v3",
        "door-open-v3",
        "drawer-open-v3",
        "drawer-close-v3",
        "button-press-topdown-v3",
        "peg-insert-side-v3",
        "window-open-v3",
        "window-close-v3",
    ]


def test_mt10_weighs_its_tasks_equally() -> None:
    assert {task.weight for task in MT10.definition.tasks} == {1.0}


def test_mt50_groups_have_the_published_sizes() -> None:
    assert Counter(task.axes for task in MT50.definition.tasks) == {
        (f"difficulty:{group}",): size for group, size in GROUPS.items()
    }


@pytest.mark.parametrize("group", GROUPS)
def test_mt50_weighs_its_groups_equally(group: str) -> None:
    members = suite_tasks(MT50.definition, group)
    own = [task for task in MT50.definition.tasks if task.axes == (f"difficulty:{group}",)]
    assert tuple(task.id for task in own) == members
    assert sum(task.weight for task in own) * 4 == sum(task.weight for task in MT50.definition.tasks)
    assert len({task.weight for task in own}) == 1


def test_instructions_tell_the_tasks_apart() -> None:
    assert len({task.instruction for task in MT50.definition.tasks}) == 50


def test_cameras_are_optional_and_the_robots_state_always_sent() -> None:
    features = MT10.definition.features
    assert {f.name for f in features if f.required} == {"state.proprioception", "language.instruction"}
    assert {f.name: (f.camera, f.orientation, f.shape) for f in features if f.kind == "image"} == {
        "images.primary": ("corner2", "rotated-180", (480, 480, 3)),
        "images.secondary": ("behindGripper", "upright", (480, 480, 3)),
        "images.tertiary": ("gripperPOV", "upright", (480, 480, 3)),
        "images.quaternary": ("topview", "upright", (480, 480, 3)),
    }


@BOTH
def test_packages_are_those_the_environment_pins(version: BenchmarkVersion) -> None:
    wanted = (PACKAGE / "conf" / "environments" / "metaworld" / "requirements.in").read_text()
    pins = dict(re.findall(r"^([a-z]+)==([0-9.]+)", wanted, re.MULTILINE))
    assert version.definition.packages == pins


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
def test_frames_seen_every_tenth_step_are_upstreams_seen_at_every_step(probe: Probe) -> None:
    assert probe("frames") == []


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


@pytest.mark.sim
def test_recorded_starts_are_rebuilt(probe: Probe) -> None:
    assert probe("starts") <= MT10.definition.initial_state_tolerance


@pytest.mark.sim
def test_the_family_conforms(probe: Probe) -> None:
    assert probe("conformance") == []


@pytest.mark.sim
def test_the_simulator_is_the_one_the_versions_are_defined_on(probe: Probe) -> None:
    assert probe("packages").items() >= MT10.definition.packages.items()
