"""The ManiSkill versions: what is in them, and in what they differ."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import proctor
from proctor.benchmarks.freezing import make_episodes
from proctor.benchmarks.grippers import commanded_grippers, measured_grippers
from proctor.benchmarks.maniskill.settings import task_settings_of
from proctor.benchmarks.maniskill.tasks import TASKS, WITH_HAND_CAMERA
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.version import BenchmarkVersion

OWN, WRIST = find_version("maniskill-v1"), find_version("maniskill-wrist-v1")
EACH = pytest.mark.parametrize("version", [OWN, WRIST], ids=["upstream's", "wrist"])


@EACH
def test_every_known_task_is_in_it_once(version: BenchmarkVersion) -> None:
    found = [task_settings_of(task).environment for task in version.definition.tasks]
    assert found == list(TASKS)


@EACH
def test_fifty_episodes_of_every_task_by_the_rule_of_seeds(version: BenchmarkVersion) -> None:
    named = [(each.id, each.seed, each.segments) for each in version.episodes]
    assert named == [(each.id, each.seed, each.segments) for each in make_episodes(version.definition, 50)]


@EACH
def test_every_start_is_recorded_and_starts_of_a_task_differ(version: BenchmarkVersion) -> None:
    assert all(episode.initial_state for episode in version.episodes)
    starts = {(episode.task, episode.initial_state) for episode in version.episodes}
    assert len(starts) == len(version.episodes)


@EACH
def test_packages_are_those_the_environment_pins(version: BenchmarkVersion) -> None:
    directory = Path(proctor.__file__).parent / "conf" / "environments" / "maniskill"
    wanted = (directory / "requirements.in").read_text()
    pins = dict(re.findall(r"^([a-z-]+)==([0-9.]+)", wanted, re.MULTILINE))
    # Whether torch was built for a GPU is part of its version, and moves nothing.
    assert {**version.definition.packages, "torch": "2.13.0"} == pins


@EACH
def test_a_displacement_is_the_default_and_joints_are_the_other_way(version: BenchmarkVersion) -> None:
    by_name = {action.representation: action for action in version.definition.actions}
    assert list(by_name) == ["maniskill.pd-ee-delta-pose-v1", "maniskill.pd-joint-pos-v1"]
    assert [action.dimension for action in by_name.values()] == [7, 8]


@EACH
def test_the_gripper_is_measured_and_commanded_in_both(version: BenchmarkVersion) -> None:
    (measured,) = measured_grippers(version.definition)
    assert (measured.feature, measured.index, measured.open) == ("state.joints", 7, 0.04)
    for action in version.definition.actions:
        (scale,) = commanded_grippers(version.definition, action.representation)
        assert (scale.index, scale.open, scale.closed) == (action.dimension - 1, 1.0, -1.0)


@EACH
def test_upstream_limits_actions_itself_and_gets_them_as_they_are(version: BenchmarkVersion) -> None:
    assert {action.limits for action in version.definition.actions} == {"pass"}


@EACH
def test_an_episode_goes_on_after_success_so_that_success_at_the_end_is_known_too(
    version: BenchmarkVersion,
) -> None:
    assert (version.definition.success, version.definition.stop_on_success) == ("once", False)


def test_one_has_upstreams_robots_and_step_limits() -> None:
    for task in OWN.definition.tasks:
        settings = task_settings_of(task)
        known = TASKS[settings.environment]
        assert (task.horizon, settings.robot) == (known.horizon, known.robot), task.id
    assert "images.wrist" not in {feature.name for feature in OWN.definition.features}


def test_the_other_has_a_camera_on_every_hand_and_300_steps() -> None:
    for task in WRIST.definition.tasks:
        assert (task.horizon, task_settings_of(task).robot) == (300, WITH_HAND_CAMERA), task.id
    (wrist,) = (feature for feature in WRIST.definition.features if feature.name == "images.wrist")
    assert (wrist.camera, wrist.shape) == ("hand_camera", (128, 128, 3))


def test_they_differ_in_nothing_else() -> None:
    for field in type(OWN.definition).__struct_fields__:
        if field not in {"id", "title", "description", "tasks", "features"}:
            assert getattr(OWN.definition, field) == getattr(WRIST.definition, field), field
    told = [(task.id, task.instruction) for task in OWN.definition.tasks]
    assert told == [(task.id, task.instruction) for task in WRIST.definition.tasks]
    others = tuple(each for each in WRIST.definition.features if each.name != "images.wrist")
    assert others == OWN.definition.features
    assert OWN.hash != WRIST.hash
