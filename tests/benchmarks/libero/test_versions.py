"""The LIBERO versions: what is in them, and in what they differ."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import proctor
from proctor.actions.representations import find_representation
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.selection import suite_tasks
from proctor.benchmarks.version import BenchmarkVersion

LIBERO, NINETY, PRO = (find_version(name) for name in ("libero-v1", "libero-90-v1", "libero-pro-v1"))
FAST, XVLA, SPATIAL_280 = (
    find_version(name) for name in ("libero-fast-v1", "libero-xvla-v1", "libero-spatial-280-v1")
)
THINGS = find_version("libero-pro-things-v1")
EVERY = (LIBERO, NINETY, PRO, FAST, XVLA, SPATIAL_280, THINGS)
EACH = pytest.mark.parametrize("version", EVERY, ids=[version.definition.id for version in EVERY])
HORIZONS = {"spatial": 220, "object": 280, "goal": 300, "10": 520, "90": 400}
BASES, PERTURBATIONS = ("spatial", "object", "goal", "10"), ("lan", "object", "swap", "task")


@EACH
def test_every_task_has_upstreams_starts_in_order(version: BenchmarkVersion) -> None:
    for task, starts in Counter(episode.task for episode in version.episodes).items():
        assert starts == (10 if "milk" in task else 50), task
    for episode in version.episodes:
        own = version is XVLA  # a script that makes an environment for every episode
        seed, resets = (142 + episode.index, 0) if own else (7, episode.index)
        assert (episode.seed, episode.settings) == (seed, {"resets_since_seed": resets})


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
    directory = Path(proctor.__file__).parent / "conf" / "environments" / "libero"
    wanted = (directory / "requirements.in").read_text()
    pins = dict(re.findall(r"^([a-z-]+)(?:\[compatible\])?==([0-9.]+)", wanted, re.MULTILINE))
    assert version.definition.packages == pins


@EACH
def test_actions_are_the_named_representations_and_targets_have_no_limits(version: BenchmarkVersion) -> None:
    for action in version.definition.actions:
        known = find_representation(action.representation)
        limits = "pass" if known.absolute else "clip"
        assert (action.dimension, action.dtype, action.limits) == (known.dimension, known.dtype, limits)
    names = [action.representation for action in version.definition.actions]
    assert names == ["libero.absolute-eef-v1"] * (version is XVLA) + ["libero.delta-eef-v1"]


@EACH
def test_both_states_and_both_cameras_are_there_under_the_names_that_mappings_know(
    version: BenchmarkVersion,
) -> None:
    shapes = {feature.name: feature.shape for feature in version.definition.features}
    assert shapes["state.proprioception"] == (16,)
    assert shapes["state.eef_axis_angle"] == (8,)
    assert shapes["images.primary"] == shapes["images.wrist"] == (256, 256, 3)
    turned = {f.name: f.orientation for f in version.definition.features if f.kind == "image"}
    wrist = "upright" if version is XVLA else "rotated-180"
    assert turned == {"images.primary": "rotated-180", "images.wrist": wrist}


def test_libero_is_four_suites_of_ten_with_the_published_horizons() -> None:
    for suite in BASES:
        members = suite_tasks(LIBERO.definition, suite)
        assert members == tuple(f"{suite}-{number}" for number in range(10))
        horizons = {task.horizon for task in LIBERO.definition.tasks if task.id in members}
        assert horizons == {HORIZONS[suite]}
    assert len(LIBERO.definition.tasks) == 40


def test_libero_asks_with_the_sentences_that_published_numbers_are_about() -> None:
    sentences = {task.id: task.instruction for task in LIBERO.definition.tasks}
    assert sentences["spatial-0"] == (
        "pick up the black bowl between the plate and the ramekin and place it on the plate"
    )
    assert sentences["goal-0"] == "open the middle drawer of the cabinet"
    assert sentences["10-2"] == "turn on the stove and put the moka pot on it"
    assert len(set(sentences.values())) == 40


def test_libero_90_has_ninety_tasks_of_which_some_share_a_sentence() -> None:
    tasks = NINETY.definition.tasks
    assert (len(tasks), len({task.id for task in tasks})) == (90, 90)
    assert len({task.instruction for task in tasks}) < 80
    assert {task.horizon for task in tasks} == {400}


def test_pro_is_sixteen_suites_of_ten() -> None:
    for base in BASES:
        for perturbation in PERTURBATIONS:
            members = suite_tasks(PRO.definition, f"{base}-{perturbation}")
            own = [task for task in PRO.definition.tasks if task.id in members]
            assert {task.axes for task in own} == {(f"base:{base}", f"perturbation:{perturbation}")}
            assert ({task.horizon for task in own}, len(own)) == ({HORIZONS[base]}, 10)
    assert len(PRO.definition.tasks) == 160


def test_pro_asks_with_the_perturbed_sentence() -> None:
    sentences = {task.id: task.instruction for task in PRO.definition.tasks}
    assert sentences["goal-task-0"] == "open the bottom drawer of the cabinet"
    plain = {task.instruction for task in LIBERO.definition.tasks}
    for base in BASES:
        assert not plain & {sentences[f"{base}-lan-{number}"] for number in range(10)}


def test_things_are_nine_suites_of_ten_with_something_added() -> None:
    suites = set(THINGS.definition.suites) - {"all"}
    assert Counter(suite.partition("-with-")[2] for suite in suites) == {
        "mug": 4,
        "yellow-book": 3,
        "milk": 2,
    }
    for suite in suites:
        base, _, thing = suite.partition("-with-")
        own = [task for task in THINGS.definition.tasks if task.id in suite_tasks(THINGS.definition, suite)]
        assert {task.axes for task in own} == {(f"base:{base}", f"perturbation:with-{thing}")}
        assert ({task.horizon for task in own}, len(own)) == ({HORIZONS[base]}, 10)


def test_the_fast_version_differs_from_libero_in_its_frames_alone() -> None:
    for field in type(LIBERO.definition).__struct_fields__:
        if field not in {"id", "title", "description", "render"}:
            assert getattr(FAST.definition, field) == getattr(LIBERO.definition, field), field
    assert FAST.episodes == LIBERO.episodes


def test_xvlas_client_has_800_steps_or_900_and_does_not_look_while_things_settle() -> None:
    for task in XVLA.definition.tasks:
        assert task.horizon == (900 if task.id.startswith("10-") else 800)
    assert XVLA.definition.settings["success_while_settling"] == "is ignored"
    state = next(f for f in XVLA.definition.features if f.name == "state.ee_rot6d_columns")
    assert state.shape == (20,)
    assert [task.settings for task in XVLA.definition.tasks] == [t.settings for t in LIBERO.definition.tasks]


def test_starts_of_xvlas_client_are_upstreams_but_for_the_fixtures() -> None:
    """Every robot and thing stands where it does in libero-v1; cabinets, stoves and racks do not."""
    pairs = list(zip(XVLA.episodes, LIBERO.episodes, strict=True))
    joints = [(x.initial_state[:9], y.initial_state[:9]) for x, y in pairs if x.initial_state]
    assert all(ours == theirs for ours, theirs in joints)
    assert any(x.initial_state != y.initial_state for x, y in pairs)


def test_lerobots_budget_is_280_steps_of_spatial() -> None:
    assert {task.horizon for task in SPATIAL_280.definition.tasks} == {280}
    assert [task.id for task in SPATIAL_280.definition.tasks] == list(
        suite_tasks(LIBERO.definition, "spatial")
    )
    starts = [each.initial_state for each in LIBERO.episodes if each.task.startswith("spatial-")]
    assert [each.initial_state for each in SPATIAL_280.episodes] == starts


def test_versions_of_other_frames_have_other_hashes() -> None:
    assert LIBERO.hash != FAST.hash
