"""The Meta-World versions: what is in them, and in what they differ."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

import proctor
from proctor.benchmarks.freezing import episode_seed
from proctor.benchmarks.metaworld.settings import CameraSettings, episode_settings_of, settings_of
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.selection import suite_tasks
from proctor.benchmarks.version import BenchmarkVersion, load_version

PACKAGE = Path(proctor.__file__).parent
MT10, MT50 = find_version("metaworld-mt10-v1"), find_version("metaworld-mt50-v1")
GOALS, CROPPED, FAST = (find_version(f"metaworld-mt50-{name}-v1") for name in ("4cam", "crop224", "fast"))
VERSIONS = (MT10, MT50, GOALS, CROPPED, FAST)
GOAL_ASSEMBLY = (0.0, 0.6, 0.02, 0.041614515559209087, 0.7520584494295802, 0.1)
GOAL_WINDOW = (0.0, 0.8008614512705869, 0.2)
GROUPS = {"easy": 28, "medium": 11, "hard": 6, "very-hard": 5}


def id_of(version: BenchmarkVersion) -> str:
    return version.definition.id


EACH = pytest.mark.parametrize("version", VERSIONS, ids=id_of)
ALL_FIFTY = pytest.mark.parametrize("version", VERSIONS[1:], ids=id_of)


@EACH
def test_each_task_has_fifty_episodes_seeded_by_the_rule(version: BenchmarkVersion) -> None:
    assert set(Counter(episode.task for episode in version.episodes).values()) == {50}
    for episode in version.episodes:
        assert episode.seed == episode_seed("metaworld", episode.task, episode.index)


@EACH
def test_every_episode_carries_its_tasks_instruction_and_horizon(version: BenchmarkVersion) -> None:
    tasks = {task.id: task for task in version.definition.tasks}
    for episode in version.episodes:
        (segment,) = episode.segments
        assert (segment.instruction, segment.horizon) == (tasks[episode.task].instruction, 500)


@EACH
def test_every_start_is_recorded(version: BenchmarkVersion) -> None:
    assert all(episode.initial_state for episode in version.episodes)


@EACH
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


@ALL_FIFTY
def test_the_groups_of_the_fifty_have_the_published_sizes(version: BenchmarkVersion) -> None:
    assert Counter(task.axes for task in version.definition.tasks) == {
        (f"difficulty:{group}",): size for group, size in GROUPS.items()
    }


@ALL_FIFTY
@pytest.mark.parametrize("group", GROUPS)
def test_the_score_of_the_fifty_is_the_mean_of_the_groups(version: BenchmarkVersion, group: str) -> None:
    tasks = version.definition.tasks
    members = suite_tasks(version.definition, group)
    own = [task for task in tasks if task.axes == (f"difficulty:{group}",)]
    assert tuple(task.id for task in own) == members
    assert sum(task.weight for task in own) * 4 == sum(task.weight for task in tasks)
    assert len({task.weight for task in own}) == 1


def test_own_instructions_tell_the_tasks_apart() -> None:
    assert len({task.instruction for task in MT50.definition.tasks}) == 50


@pytest.mark.parametrize("version", [MT10, MT50, GOALS, FAST], ids=id_of)
def test_cameras_are_optional_and_the_robots_state_always_sent(version: BenchmarkVersion) -> None:
    features = version.definition.features
    assert {f.name for f in features if f.required} == {"state.proprioception", "language.instruction"}
    assert {f.name: (f.camera, f.orientation, f.shape) for f in features if f.kind == "image"} == {
        "images.primary": ("corner2", "rotated-180", (480, 480, 3)),
        "images.secondary": ("behindGripper", "upright", (480, 480, 3)),
        "images.tertiary": ("gripperPOV", "upright", (480, 480, 3)),
        "images.quaternary": ("topview", "upright", (480, 480, 3)),
    }


@EACH
def test_packages_are_those_the_environment_pins(version: BenchmarkVersion) -> None:
    wanted = (PACKAGE / "conf" / "environments" / "metaworld" / "requirements.in").read_text()
    pins = dict(re.findall(r"^([a-z]+)==([0-9.]+)", wanted, re.MULTILINE))
    assert {k: v for k, v in version.definition.packages.items() if k != "pillow"} == pins


def test_the_scaled_frames_name_the_pillow_that_the_environment_locks() -> None:
    lock = (PACKAGE / "conf" / "environments" / "metaworld" / "requirements.lock").read_text()
    assert f"pillow=={CROPPED.definition.packages['pillow']} " in lock
    assert "pillow" not in GOALS.definition.packages


def test_the_fast_version_is_mt50_with_other_frames() -> None:
    changed = {"id", "title", "description", "render"}
    assert {
        field
        for field in MT50.definition.__struct_fields__
        if getattr(FAST.definition, field) != getattr(MT50.definition, field)
    } == changed
    assert FAST.episodes == MT50.episodes
    assert FAST.hash != MT50.hash
    assert (FAST.definition.render.name, MT50.definition.render.name) == ("fast", "reference")


@pytest.mark.parametrize("version", [GOALS, CROPPED], ids=id_of)
def test_upstreams_goals_are_written_down_and_recorded_with_the_start(version: BenchmarkVersion) -> None:
    for episode in version.episodes:
        vector = episode_settings_of(episode).random_vector
        assert vector is not None
        assert episode.initial_state is not None
        assert episode.initial_state[-len(vector) :] == vector


def test_two_goals_are_those_that_upstream_draws_with_seed_42() -> None:
    starts = {episode.start: episode_settings_of(episode).random_vector for episode in GOALS.episodes}
    assert starts["assembly-v3/0"] == GOAL_ASSEMBLY
    assert starts["window-close-v3/49"] == GOAL_WINDOW


def test_the_versions_with_upstreams_goals_differ_in_cameras_and_sentences_alone() -> None:
    assert [(each.id, each.seed, each.initial_state, each.settings) for each in GOALS.episodes] == [
        (each.id, each.seed, each.initial_state, each.settings) for each in CROPPED.episodes
    ]
    assert [replace(each, instruction="") for each in GOALS.definition.tasks] == [
        replace(each, instruction="") for each in CROPPED.definition.tasks
    ]
    assert {
        field
        for field in GOALS.definition.__struct_fields__
        if getattr(GOALS.definition, field) != getattr(CROPPED.definition, field)
    } == {"id", "title", "description", "features", "packages", "settings", "tasks"}


def test_the_sentences_of_meta_world_lerobot_and_proctor_have_none_in_common() -> None:
    metaworld, lerobot, own = (
        {task.id: task.instruction for task in version.definition.tasks} for version in (GOALS, CROPPED, MT50)
    )
    assert metaworld["disassemble-v3"] == "Pick a nut out of the a peg."
    assert (metaworld["push-v3"], metaworld["push-back-v3"]) == (
        "Push the puck to a goal.",
        "Pull a puck to a goal.",
    )
    assert all(sentence.endswith(".") for sentence in metaworld.values())
    assert lerobot["push-v3"] == lerobot["push-back-v3"] == "Push the puck to a goal"
    assert not any(sentence.endswith(".") for sentence in lerobot.values())
    assert len({*metaworld.values(), *lerobot.values(), *own.values()}) == 50 + 49 + 50


def test_the_cropped_camera_is_two_thirds_of_480_pixels_at_224() -> None:
    images = [feature for feature in CROPPED.definition.features if feature.kind == "image"]
    assert [(f.name, f.camera, f.orientation, f.shape) for f in images] == [
        ("images.primary", "corner2", "rotated-180", (224, 224, 3))
    ]
    camera = CameraSettings(render=(480, 480), position=None, center_crop=2 / 3)
    assert settings_of(CROPPED.definition).cameras == {"images.primary": camera}


def test_another_camera_is_another_hash(tmp_path: Path) -> None:
    assert CROPPED.directory is not None
    copy = shutil.copytree(CROPPED.directory, tmp_path / CROPPED.definition.id)
    assert load_version(copy).hash == CROPPED.hash
    text = (copy / "benchmark.toml").read_text()
    (copy / "benchmark.toml").write_text(
        text.replace("center_crop = 0.6666666666666666", "center_crop = 0.7")
    )
    changed = load_version(copy)
    assert settings_of(changed.definition).cameras["images.primary"].center_crop == 0.7
    assert changed.hash != CROPPED.hash
