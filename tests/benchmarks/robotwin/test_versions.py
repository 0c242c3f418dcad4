"""The drafts: complete, in agreement with the task list, and unscored until seeds were tried."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from proctor.actions import find_representation
from proctor.benchmarks.checks import check_definition
from proctor.benchmarks.registry import find_family, find_version
from proctor.benchmarks.robotwin import FAMILY
from proctor.benchmarks.robotwin.commands import REPRESENTATIONS
from proctor.benchmarks.robotwin.observation import reader_of
from proctor.benchmarks.robotwin.settings import REFERENCE, read_settings, refuse_candidates
from proctor.benchmarks.robotwin.tasks import STEP_LIMITS
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import BenchmarkFault, EnvironmentMissing, UnknownNameError
from proctor.launch import environments

VERSIONS = [find_version("robotwin2-clean-v1"), find_version("robotwin2-randomized-v1")]
CLEAN, RANDOMIZED = VERSIONS


def test_importing_the_family_imports_no_simulator() -> None:
    code = (
        "import sys; import proctor.benchmarks.robotwin.environment;"
        "sys.exit(bool({'sapien', 'torch', 'yaml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert find_family("robotwin") is FAMILY


def test_there_are_fifty_tasks_with_their_limits_in_the_customary_order() -> None:
    names = list(STEP_LIMITS)
    assert len(names) == 50
    assert names.index("shake_bottle_horizontally") + 1 == names.index("shake_bottle")
    assert sorted(names) != names
    assert [*sorted(set(names) - {"shake_bottle"})] == [name for name in names if name != "shake_bottle"]


@pytest.mark.parametrize(
    ("limit", "count"),
    [(400, 24), (500, 5), (600, 3), (700, 7), (800, 3), (900, 2), (1200, 4), (1500, 1), (1700, 1)],
)
def test_limits_are_shared_by_as_many_tasks_as_published(limit: int, count: int) -> None:
    assert sum(each == limit for each in STEP_LIMITS.values()) == count


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.definition.id)
class TestDraft:
    def test_it_lists_every_task_with_its_limit(self, version: BenchmarkVersion) -> None:
        assert version.status == "draft"
        check_definition(version.definition)
        assert {task.id: task.horizon for task in version.definition.tasks} == dict(STEP_LIMITS)

    def test_every_feature_can_be_read_and_every_representation_carried_out(
        self, version: BenchmarkVersion
    ) -> None:
        for feature in version.definition.features:
            if feature.kind != "language":
                reader_of(feature)
        names = [action.representation for action in version.definition.actions]
        assert names[0] == "robotwin.qpos-v1"
        assert set(names) == set(REPRESENTATIONS)
        for action in version.definition.actions:
            representation = find_representation(action.representation)
            assert (action.dimension, action.dtype) == (representation.dimension, representation.dtype)

    def test_its_checkout_is_the_one_that_its_environment_looks_for(self, version: BenchmarkVersion) -> None:
        source = environments.find(version.definition.environment).source
        assert source is not None
        assert read_settings(version.definition).commit == source.commit
        assert version.definition.render == REFERENCE

    def test_its_packages_are_those_that_are_locked(self, version: BenchmarkVersion) -> None:
        lock = environments.find(version.definition.environment).lock.read_text()
        for package, number in version.definition.packages.items():
            assert f"\n{package}=={number} " in lock

    def test_its_episodes_are_candidates_that_are_refused(self, version: BenchmarkVersion) -> None:
        for episode in version.episodes:
            assert episode.seed == read_settings(version.definition).candidate_start
            with pytest.raises(BenchmarkFault, match=r"is a candidate, which no expert has tried.*make-it"):
                refuse_candidates(episode, "make-it")


def test_clean_and_randomised_differ_in_scenes_and_in_instructions() -> None:
    clean, randomised = (read_settings(version.definition) for version in VERSIONS)
    assert (clean.task_config, clean.instructions) == ("demo_clean", "seen")
    assert (randomised.task_config, randomised.instructions) == ("demo_randomized", "unseen")
    assert clean.config["domain_randomization"]["cluttered_table"] is False
    assert randomised.config["domain_randomization"] == {
        "random_background": True,
        "cluttered_table": True,
        "clean_background_rate": 0.02,
        "random_head_camera_dis": 0,
        "random_table_height": 0.03,
        "random_light": True,
        "crazy_random_light_rate": 0.02,
    }
    assert CLEAN.hash != RANDOMIZED.hash


def test_opening_a_lane_without_the_checkout_names_the_command_that_tells_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_ROBOTWIN_ROOT", str(tmp_path / "absent"))
    definition = replace(CLEAN.definition, packages={})
    with pytest.raises(EnvironmentMissing, match="run: proctor env check robotwin"):
        FAMILY.open(definition, definition.tasks[0], definition.actions[0])


def test_an_unknown_task_is_refused_with_the_nearest() -> None:
    definition = replace(CLEAN.definition, packages={})
    with pytest.raises(
        UnknownNameError, match="unknown RoboTwin task 'click_bel'; did you mean 'click_bell'"
    ):
        FAMILY.open(definition, replace(definition.tasks[0], id="click_bel"), definition.actions[0])


def test_a_setting_that_is_none_is_refused_with_the_nearest() -> None:
    definition = CLEAN.definition
    with pytest.raises(UnknownNameError, match="settings 'task_confg'; did you mean 'task_config'"):
        read_settings(replace(definition, settings={**definition.settings, "task_confg": "demo_clean"}))
    with pytest.raises(
        UnknownNameError, match=r"unknown instructions in .*settings 'heard'.* Valid: seen, unseen"
    ):
        read_settings(replace(definition, settings={**definition.settings, "instructions": "heard"}))
