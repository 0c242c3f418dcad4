"""The RoboCasa versions: what is in them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest
import tomllib

import proctor
from proctor.benchmarks.checkouts import Source
from proctor.benchmarks.grippers import commanded_grippers, measured_grippers
from proctor.benchmarks.robocasa.layouts import LAYOUTS, Kind
from proctor.benchmarks.robocasa.manifest import seeded
from proctor.benchmarks.robocasa.settings import VARIABLES, settings_of, task_settings_of
from proctor.benchmarks.robocasa.tasks import GR1_TASKS, gr1_environment

from .conftest import VERSIONS, definition_of

CONF = Path(proctor.__file__).parent / "conf" / "environments"
KINDS = pytest.mark.parametrize("kind", ["gr1", "365"])


def source_of(kind: Kind) -> Source:
    text = (CONF / definition_of(kind).environment / "environment.toml").read_text()
    return msgspec.convert(tomllib.loads(text)["source"], Source)


@KINDS
def test_features_and_actions_have_the_sizes_of_upstreams_dictionaries(kind: Kind) -> None:
    definition, layout = definition_of(kind), LAYOUTS[kind]
    (action,) = definition.actions
    assert (action.representation, action.dimension) == (
        layout.representation,
        sum(size for _, size in layout.action),
    )
    shapes = {feature.name: feature.shape for feature in definition.features}
    assert shapes["state.proprioception"] == (sum(size for _, size in layout.state),)
    assert {name for name in shapes if name.startswith("images.")} == set(layout.images)


@KINDS
def test_fifty_seeded_episodes_of_every_task_none_of_them_recorded(kind: Kind) -> None:
    version = VERSIONS[kind]
    assert list(version.episodes) == list(seeded(version.definition))
    assert set(Counter(episode.task for episode in version.episodes).values()) == {50}
    assert not any(episode.settings for episode in version.episodes)


@KINDS
def test_its_checkout_is_the_environments(kind: Kind) -> None:
    source = source_of(kind)
    assert (source.commit, source.variable) == (settings_of(definition_of(kind)).commit, VARIABLES[kind])


@KINDS
def test_packages_are_those_the_environment_pins(kind: Kind) -> None:
    definition = definition_of(kind)
    wanted = (CONF / definition.environment / "requirements.in").read_text()
    pins = dict(re.findall(r"^([a-z-]+)==([0-9.]+)", wanted, re.MULTILINE))
    assert definition.packages.items() <= pins.items()


def test_gr1_is_24_tasks_of_720_steps_and_twelve_actions_of_every_chunk() -> None:
    definition = definition_of("gr1")
    environments = [task_settings_of(task).environment for task in definition.tasks]
    assert environments == [gr1_environment(name) for name in GR1_TASKS]
    assert len(set(environments)) == 24
    assert {task.horizon for task in definition.tasks} == {720}
    assert definition.execute_steps == "fixed:12"
    assert {name: len(tasks) for name, tasks in definition.suites.items()} == {
        "all": 24,
        "close": 6,
        "novel": 18,
    }


def test_gr1s_seeds_follow_from_names_as_upstream_has_none() -> None:
    assert len({episode.seed for episode in VERSIONS["gr1"].episodes}) == 1200


def test_365_is_fifty_target_tasks_in_three_sets_each_with_a_horizon_of_its_own() -> None:
    definition = definition_of("365")
    assert {name: len(tasks) for name, tasks in definition.suites.items()} == {
        "target50": 50,
        "atomic_seen": 18,
        "composite_seen": 16,
        "composite_unseen": 16,
    }
    horizons = {task.id: task.horizon for task in definition.tasks}
    assert (horizons["close-fridge"], horizons["navigate-kitchen"]) == (900, 450)
    assert len(set(horizons.values())) > 10


def test_365_looks_at_the_goal_every_16_steps_of_pretrain_kitchens() -> None:
    settings = settings_of(definition_of("365"))
    assert (settings.success_every, settings.split) == (16, "pretrain")
    assert [episode.seed for episode in VERSIONS["365"].episodes[:3]] == [0, 1, 2]


def test_365s_robosuite_is_the_environments() -> None:
    needs = {need.what: need for need in source_of("365").needs}
    assert needs["robosuite"].commit == settings_of(definition_of("365")).robosuite
    assert Path(needs["robosuite"].path) == Path("third_party/robosuite")


def test_only_a_gripper_with_two_ends_is_declared() -> None:
    assert measured_grippers(definition_of("gr1")) == ()
    (scale,) = commanded_grippers(definition_of("365"), "robocasa.panda-omron-v1")
    assert (scale.index, scale.open, scale.closed) == (6, 0.0, 1.0)
