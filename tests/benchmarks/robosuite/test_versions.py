"""The robosuite versions: what is in them, and in what they differ."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import proctor
from proctor.actions.representations import find_representation
from proctor.benchmarks.freezing import episode_seed
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.robosuite.settings import POSES, settings_of, task_settings_of
from proctor.benchmarks.version import BenchmarkVersion

ONE, FAST, TWO = (find_version(f"robosuite-{name}") for name in ("v1", "fast-v1", "two-arm-v1"))
EVERY = (ONE, FAST, TWO)
EACH = pytest.mark.parametrize("version", EVERY, ids=[version.definition.id for version in EVERY])


def test_horizons_are_those_of_robomimic_where_it_has_the_task_and_of_robosuites_benchmark_elsewhere() -> (
    None
):
    horizons = {task.id: task.horizon for version in (ONE, TWO) for task in version.definition.tasks}
    robomimic = {"lift": 400, "can": 400, "square": 400, "two-arm-transport": 700}
    assert robomimic.items() <= horizons.items()
    assert {horizons[task] for task in horizons.keys() - robomimic.keys()} == {500}


@EACH
def test_every_task_has_fifty_starts_whose_seeds_follow_from_their_names(version: BenchmarkVersion) -> None:
    counts = Counter(episode.task for episode in version.episodes)
    assert counts == {task.id: 50 for task in version.definition.tasks}
    for episode in version.episodes:
        assert episode.seed == episode_seed("robosuite", episode.task, episode.index)


@EACH
def test_every_start_is_recorded_and_starts_of_a_task_differ(version: BenchmarkVersion) -> None:
    starts = {(episode.task, episode.initial_state) for episode in version.episodes}
    assert all(episode.initial_state for episode in version.episodes)
    assert len(starts) == len(version.episodes)


@EACH
def test_every_episode_carries_its_tasks_instruction_and_horizon(version: BenchmarkVersion) -> None:
    tasks = {task.id: task for task in version.definition.tasks}
    for episode in version.episodes:
        (segment,) = episode.segments
        task = tasks[episode.task]
        assert (segment.instruction, segment.horizon) == (task.instruction, task.horizon)


@EACH
def test_packages_are_those_the_environment_pins(version: BenchmarkVersion) -> None:
    directory = Path(proctor.__file__).parent / "conf" / "environments" / "robosuite"
    pins = re.findall(r"^([a-z-]+)==([0-9.]+)", (directory / "requirements.in").read_text(), re.MULTILINE)
    assert version.definition.packages == dict(pins)


@EACH
def test_the_action_is_the_named_representation_for_every_robot(version: BenchmarkVersion) -> None:
    (action,) = version.definition.actions
    known = find_representation(action.representation)
    assert (action.dimension, action.dtype, action.limits) == (known.dimension, known.dtype, "clip")
    assert action.dimension == 7 * len(settings_of(version.definition).robots)


@EACH
def test_states_hold_every_robot_and_frames_are_turned_upright(version: BenchmarkVersion) -> None:
    shapes = {feature.name: feature.shape for feature in version.definition.features}
    robots = len(settings_of(version.definition).robots)
    assert shapes["state.proprioception"] == (16 * robots,)
    assert shapes["state.eef_quaternion"] == (9 * robots,)
    assert shapes["state.eef_axis_angle"] == (8 * robots,)
    images = [feature for feature in version.definition.features if feature.kind == "image"]
    assert {(image.shape, image.orientation) for image in images} == {((256, 256, 3), "flipped-vertical")}
    assert len(images) == 1 + robots


@EACH
def test_poses_of_every_task_have_their_rows(version: BenchmarkVersion) -> None:
    assert all(0 < len(task_settings_of(task).poses) <= POSES for task in version.definition.tasks)


def test_fast_frames_are_the_only_difference_of_the_fast_version() -> None:
    for field in type(ONE.definition).__struct_fields__:
        if field not in {"id", "title", "description", "render"}:
            assert getattr(FAST.definition, field) == getattr(ONE.definition, field), field
    assert FAST.episodes == ONE.episodes
    assert FAST.hash != ONE.hash
