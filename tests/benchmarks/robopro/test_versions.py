"""RoboPRO's tasks and drafts: counts, limits, conditions, and agreement with the environment."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.registry import find_family, find_version
from proctor.benchmarks.robopro import FAMILY
from proctor.benchmarks.robopro.settings import read_settings, read_task
from proctor.benchmarks.robopro.tasks import PERTURBED, TASKS
from proctor.benchmarks.robotwin.commands import REPRESENTATIONS
from proctor.benchmarks.robotwin.manifest import Provenance
from proctor.benchmarks.robotwin.observation import reader_of
from proctor.benchmarks.robotwin.settings import REFERENCE, refuse_candidates
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import BenchmarkFault, EnvironmentMissing, UnknownNameError, UsageError
from proctor.launch import environments

VERSIONS = {
    name: find_version(f"robopro-{name}-v1") for name in ("clean", "clutter", "vision", "object", "language")
}
CLEAN = VERSIONS["clean"].definition

CONDITIONS = {
    "clean": {"clean"},
    "clutter": {f"d{number}" for number in range(6, 16)},
    "vision": {"lighting", "blur", "pixel_shift", "combined"},
    "object": {"appearance", "unseen_obstacles", "unseen_targets", "combined"},
    "language": {
        "colloquial_polite",
        "commonsense_indirect",
        "distractor_context",
        "multi_object_distraction",
        "reasoning_chain",
    },
}

WITHOUT_A_LIST = {
    "clean": {("put_plate_in_sink_ks", "clean")},
    "clutter": {
        *(("put_plate_in_sink_ks", condition) for condition in ("d8", "d11", "d15")),
        *(("chain_serve_hamburger_ks", condition) for condition in ("d9", "d12")),
    },
    "vision": {(f"{name}+{axis}", axis) for name in PERTURBED for axis in ("lighting", "combined")},
    "object": {(f"{name}+{axis}", axis) for name in PERTURBED for axis in CONDITIONS["object"]},
    "language": set(),
}
"""Tasks and conditions whose episode is a candidate."""


def _refusal(episode: Episode) -> AbstractContextManager[object]:
    if episode.settings["seeds"] == "candidate":
        return pytest.raises(BenchmarkFault, match="is a candidate")
    return nullcontext()


def test_importing_the_family_imports_no_simulator() -> None:
    code = (
        "import sys; import proctor.benchmarks.robopro.environment;"
        "sys.exit(bool({'sapien', 'torch', 'yaml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert find_family("robopro") is FAMILY


def test_there_are_twenty_tasks_in_each_scene_five_of_them_of_several_steps() -> None:
    assert len(TASKS) == 80
    counts = Counter((task.scene, task.kind) for task in TASKS.values())
    assert counts == {
        (scene, kind): count
        for scene in ("office", "study", "kitchenl", "kitchens")
        for kind, count in (("atomic", 15), ("compositional", 5))
    }


def test_every_task_of_the_small_kitchen_and_no_other_ends_in_its_letters() -> None:
    assert {name for name in TASKS if name.endswith("_ks")} == {
        name for name, task in TASKS.items() if task.scene == "kitchens"
    }


def test_limits_follow_from_the_kind() -> None:
    assert TASKS["put_mouse_on_pad"].limit == 600
    assert TASKS["chain_heat_hamburger_ks"].limit == 1200


def test_three_tasks_of_each_scene_are_perturbed() -> None:
    assert Counter(TASKS[name].scene for name in PERTURBED) == dict.fromkeys(
        ("office", "study", "kitchenl", "kitchens"), 3
    )


@pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS)
class TestDraft:
    def test_every_task_is_one_of_upstreams_under_known_conditions(self, version: BenchmarkVersion) -> None:
        settings = read_settings(version.definition)
        for task in version.definition.tasks:
            upstream, own = read_task(settings, task)
            assert task.axes[:2] == (upstream.scene, upstream.kind)
            assert task.id in (upstream.name, f"{upstream.name}+{own.conditions[0]}")
        assert version.status == "draft"

    def test_every_feature_and_representation_is_that_of_robotwin(self, version: BenchmarkVersion) -> None:
        for feature in version.definition.features:
            if feature.kind != "language":
                reader_of(feature)
        assert {action.representation for action in version.definition.actions} == set(REPRESENTATIONS)
        assert version.definition.actions == find_version("robotwin2-clean-v1").definition.actions
        assert version.definition.render == REFERENCE

    def test_its_checkout_is_the_one_that_its_environment_looks_for(self, version: BenchmarkVersion) -> None:
        source = environments.find(version.definition.environment).source
        assert source is not None
        assert read_settings(version.definition).commit == source.commit

    def test_its_candidates_and_they_alone_are_refused(self, version: BenchmarkVersion) -> None:
        for episode in version.episodes:
            with _refusal(episode):
                refuse_candidates(episode, "make-it")

    def test_seeds_of_a_list_are_said_to_be_and_counted(self, version: BenchmarkVersion) -> None:
        assert version.directory is not None
        counts = Counter((each.task, each.settings["seeds"]) for each in version.episodes)
        if not any(origin == "upstream-list" for _, origin in counts):
            return
        content = (version.directory / "provenance.json").read_bytes()
        provenance = msgspec.json.decode(content, type=Provenance)
        assert provenance.commit == read_settings(version.definition).commit
        written = (version.directory / "episodes.jsonl").read_bytes()
        assert provenance.episodes_sha256 == hashlib.sha256(written).hexdigest()
        listed = sum(verdict.get("listed", 0) for verdict in provenance.verdicts.values())
        assert listed == sum(n for (_, origin), n in counts.items() if origin == "upstream-list")


@pytest.mark.parametrize("name", VERSIONS)
def test_each_family_of_perturbations_has_its_conditions(name: str) -> None:
    version = VERSIONS[name]
    assert set(read_settings(version.definition).conditions) == CONDITIONS[name]
    expected = 80 if name in ("clean", "clutter") else 12 * len(CONDITIONS[name])
    assert len(version.definition.tasks) == expected


@pytest.mark.parametrize("name", VERSIONS)
def test_what_upstream_has_no_list_of_are_candidates_and_nothing_else_is(name: str) -> None:
    candidates = [each for each in VERSIONS[name].episodes if each.settings["seeds"] == "candidate"]
    assert {(each.task, each.settings["condition"]) for each in candidates} == WITHOUT_A_LIST[name]
    assert len(candidates) == len(WITHOUT_A_LIST[name])


def test_obstacles_are_as_many_as_the_condition_says() -> None:
    for name, condition in read_settings(VERSIONS["clutter"].definition).conditions.items():
        assert condition.randomization["obstacle_density"] == int(name.removeprefix("d"))
        assert condition.randomization["cluttered_table"] is True
        assert (condition.seeds, condition.count) == (name, 2)


def test_lists_of_seeds_are_taken_only_where_the_scene_is_the_one_they_were_made_for() -> None:
    clean = read_settings(CLEAN).conditions["clean"].randomization
    for version in VERSIONS.values():
        for condition in read_settings(version.definition).conditions.values():
            if condition.seeds != "clean":
                continue
            others = {key: condition.randomization[key] for key in condition.randomization if key in clean}
            assert others == clean
            lights = condition.randomization.get("vision_perturbation", {}).get("lighting", {})
            assert not lights.get("enabled"), "lights are drawn before things are placed"
            assert not {"object_perturbation", "ood_perturbation"} & set(condition.randomization)


def test_a_combined_condition_is_all_of_its_family() -> None:
    conditions = read_settings(VERSIONS["vision"].definition).conditions
    enabled = {
        name: {key for key, value in each.randomization["vision_perturbation"].items() if value["enabled"]}
        for name, each in conditions.items()
    }
    assert enabled == {
        "lighting": {"lighting"},
        "blur": {"blur"},
        "pixel_shift": {"pixel_shift"},
        "combined": {"lighting", "blur", "pixel_shift"},
    }


def test_an_unknown_condition_is_refused_with_the_nearest() -> None:
    settings = read_settings(VERSIONS["vision"].definition)
    task = VERSIONS["vision"].definition.tasks[0]
    other = replace(task, settings={"task": "close_drawer", "conditions": ["blurr"]})
    with pytest.raises(UnknownNameError, match="did you mean 'blur'"):
        read_task(settings, other)


def test_an_unknown_task_is_refused_with_the_nearest() -> None:
    task = replace(CLEAN.tasks[0], settings={"task": "put_mouse_on_pads", "conditions": ["clean"]})
    with pytest.raises(UnknownNameError, match="did you mean 'put_mouse_on_pad'"):
        read_task(read_settings(CLEAN), task)


def test_another_horizon_than_upstreams_is_refused_with_both() -> None:
    with pytest.raises(UsageError, match="horizon 350, upstream's is 600"):
        read_task(read_settings(CLEAN), replace(CLEAN.tasks[0], horizon=350))


def test_a_setting_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'safety'"):
        read_settings(replace(CLEAN, settings={**CLEAN.settings, "safty": {}}))


def test_opening_a_lane_without_the_checkout_names_the_command_that_tells_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_ROBOPRO_ROOT", str(tmp_path / "absent"))
    with pytest.raises(EnvironmentMissing, match="run: proctor env check robopro"):
        FAMILY.open(replace(CLEAN, packages={}), CLEAN.tasks[0], CLEAN.actions[0])
