"""What holds of every family: the kit that its tests run, and how what is wrong is refused.

What a family alone can find wrong (its tasks, files, cameras, settings) is in its own tests.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path

import pytest
import tomllib
from msgspec.structs import replace

import proctor
from proctor.benchmarks.checks import check_episodes, episode_id
from proctor.benchmarks.family import SimulatorFamily
from proctor.benchmarks.gymnasium.own import own_version
from proctor.benchmarks.registry import FAMILIES, find_family, find_version
from proctor.benchmarks.selection import select
from proctor.benchmarks.spec import benchmark_spec
from proctor.benchmarks.version import DEFINITION_FILE, EPISODES_FILE, BenchmarkVersion, read_toml
from proctor.errors import EnvironmentMissing, PolicyLoadError, UnknownNameError, UsageError
from proctor.launch import environments
from proctor.policy import PolicyCapabilities, negotiate_policy_action_contract
from proctor.testing.benchmark_rules import (
    CHECKS,
    begin_is_a_function_of_the_episode,
    frames_are_those_of_a_new_process,
    observation_does_not_depend_on_the_chunk,
)

HERE = Path(__file__).parent
VERSIONS = Path(proctor.__file__).parent / "conf" / "benchmarks"
OWN = HERE.parents[1] / "examples" / "benchmarks" / "reach.toml"
FAMILY_NAMES = sorted(set(FAMILIES.built_in) - {"toy"})
KIT = re.compile(r"\bexamine\(|\(BenchmarkConformance\)")


def environments_of(family: str) -> set[str]:
    """Those of the versions that come with proctor."""
    definitions = [tomllib.loads(path.read_text()) for path in VERSIONS.glob("*/benchmark.toml")]
    return {each["environment"] for each in definitions if each["family"] == family}


def needs_a_checkout(family: str) -> bool:
    """Whether its simulator is in no package: the kit is `proctor bench check` where it is."""
    found = environments_of(family)
    return bool(found) and all(environments.find(name).source is not None for name in found)


def runs_the_kit(family: str) -> bool:
    """Whether a file of the family's tests does."""
    files = [*HERE.glob(f"{family}_*.py"), *HERE.glob(f"test_{family}*.py"), *HERE.glob(f"{family}/*.py")]
    return any(KIT.search(file.read_text()) for file in files)


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_the_tests_of_a_family_run_the_kit(family: str) -> None:
    assert runs_the_kit(family) or needs_a_checkout(family)


def test_the_kit_holds_frames_against_stale_contexts_chunks_and_what_ran_before() -> None:
    assert {
        begin_is_a_function_of_the_episode,
        frames_are_those_of_a_new_process,
        observation_does_not_depend_on_the_chunk,
    } <= set(CHECKS)


@functools.cache
def version_of(family: str) -> BenchmarkVersion:
    """The shortest of those that come with proctor; the example for environments of one's own."""
    if family == "gymnasium":
        return own_version(OWN)
    found = [
        path.parent for path in VERSIONS.glob(f"*/{DEFINITION_FILE}") if read_toml(path)["family"] == family
    ]
    return find_version(min(found, key=lambda each: (each / EPISODES_FILE).stat().st_size).name)


@pytest.mark.parametrize("family", FAMILY_NAMES)
class TestWhatIsWrongIsRefusedBeforeASimulatorStarts:
    def test_an_unknown_task_and_an_unknown_suite_name_the_nearest(self, family: str) -> None:
        version = version_of(family)
        task, suite = version.definition.tasks[-1].id, next(iter(version.definition.suites))
        for choice, field, nearest in (
            ({"tasks": [task + "x"]}, "task", task),
            ({"suite": suite + "x"}, "suite", suite),
        ):
            with pytest.raises(UnknownNameError) as caught:
                select(version, **choice)
            assert str(caught.value).startswith(f"unknown {field} '{nearest}x'; did you mean '")
            assert nearest in caught.value.valid

    def test_more_episodes_than_there_are_are_refused_naming_how_many(self, family: str) -> None:
        version = version_of(family)
        task = version.definition.tasks[0].id
        count = sum(episode.task == task for episode in version.episodes)
        with pytest.raises(
            UsageError, match=f"episodes {count + 1}: task {re.escape(task)} has {count}; use"
        ):
            select(version, tasks=[task], episodes=count + 1)

    def test_an_episode_whose_index_is_out_of_range_is_refused_naming_both(self, family: str) -> None:
        version = version_of(family)
        last, task = len(version.episodes) - 1, version.episodes[-1].task
        count = sum(episode.task == task for episode in version.episodes)
        wrong = replace(version.episodes[last], index=9999, id=episode_id(task, 9999, 0))
        with pytest.raises(UsageError, match=rf"index 9999 is out of range; its {count} episodes run from 0"):
            check_episodes(version.definition, (*version.episodes[:last], wrong))

    @pytest.mark.parametrize("name", ["state.of_another_robot", "images.of_another_camera"])
    def test_a_feature_that_it_does_not_have_is_refused_at_the_handshake(
        self, family: str, name: str
    ) -> None:
        spec = benchmark_spec(version_of(family).definition)
        asks = PolicyCapabilities(supported_benchmarks=(family,), required_features=(name,))
        with pytest.raises(PolicyLoadError) as caught:
            negotiate_policy_action_contract(spec, asks)
        assert str(caught.value).startswith(f"PolicyCapabilities.required_features: unknown feature '{name}'")
        assert all(feature.name in str(caught.value) for feature in spec.features)

    def test_a_representation_that_it_does_not_have_is_refused_at_the_handshake(self, family: str) -> None:
        spec = benchmark_spec(version_of(family).definition)
        asks = PolicyCapabilities(
            supported_benchmarks=(family,),
            required_features=(),
            action_representations={family: "another.robot-v1"},
        )
        with pytest.raises(PolicyLoadError) as caught:
            negotiate_policy_action_contract(spec, asks)
        assert "unknown action representation 'another.robot-v1'" in str(caught.value)
        assert all(known in str(caught.value) for known in spec.supported_action_representations)

    def test_another_version_of_a_package_is_refused_naming_both(self, family: str) -> None:
        definition = replace(version_of(family).definition, packages={"numpy": "0.1"})
        found = find_family(family)
        if isinstance(found, SimulatorFamily):  # its own lane would have to be imported, with the simulator
            found = dataclasses.replace(found, environment="proctor.testing.toy:ToyEnvironment")
        with pytest.raises(
            EnvironmentMissing, match=rf"numpy is [1-9].*; {definition.id} is defined on 0\.1"
        ):
            found.open(definition, definition.tasks[0], definition.actions[0])
