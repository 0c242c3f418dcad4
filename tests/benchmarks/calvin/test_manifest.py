"""The versions: complete contracts, and episodes that are the sequences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from proctor.benchmarks.calvin import FAMILY, manifest
from proctor.benchmarks.calvin.manifest import chain_of, condition_of, episodes_of
from proctor.benchmarks.calvin.sequences import Condition
from proctor.benchmarks.calvin.settings import settings_of
from proctor.benchmarks.calvin.starts import robot_start, scene_start
from proctor.benchmarks.calvin.subtasks import SUBTASKS
from proctor.benchmarks.registry import find_family, find_version
from proctor.errors import BenchmarkFault, EnvironmentMissing
from proctor.launch import environments

VERSIONS = ("calvin-abc-d-v1", "calvin-d-d-v1", "calvin-abcd-d-v1")
VERSION = find_version(VERSIONS[0])
DEFINITION = VERSION.definition


def test_the_family_is_found_and_needs_its_simulator_only_to_open() -> None:
    assert find_family("calvin") is FAMILY
    with pytest.raises(EnvironmentMissing, match=r"proctor env (build|check) calvin"):
        FAMILY.open(DEFINITION, DEFINITION.tasks[0], DEFINITION.actions[0])


def test_the_versions_differ_in_what_policies_were_trained_on_alone() -> None:
    for name in VERSIONS:
        other = find_version(name)
        same = replace(
            DEFINITION,
            id=other.definition.id,
            title=other.definition.title,
            description=other.definition.description,
            suites=other.definition.suites,
        )
        assert other.definition == same
        assert other.episodes == VERSION.episodes
        assert other.status == "draft"


def test_a_policy_is_offered_what_the_published_contract_names() -> None:
    shapes = {f.name: (f.dtype, f.shape) for f in DEFINITION.features if not f.name.startswith("privileged")}
    assert shapes == {
        "images.static": ("uint8", (200, 200, 3)),
        "images.gripper": ("uint8", (84, 84, 3)),
        "state.proprioception": ("float32", (15,)),
        "language.instruction": (None, None),
    }
    assert [action.representation for action in DEFINITION.actions] == [
        "calvin.relative-v1",
        "calvin.absolute-compact-quat-v1",
    ]


def test_success_ends_a_subtask_at_once_and_the_policy_is_reset_for_each() -> None:
    assert (DEFINITION.success, DEFINITION.stop_on_success, DEFINITION.policy_reset) == (
        "once",
        True,
        "segment",
    )
    assert (DEFINITION.control_hz, DEFINITION.window) == (30.0, 1)


def test_every_episode_is_five_subtasks_of_360_steps_with_their_instructions() -> None:
    for episode in VERSION.episodes:
        assert [(s.horizon, s.instruction) for s in episode.segments] == [
            (360, SUBTASKS[s.predicate].instruction) for s in episode.segments
        ]
        assert len(episode.segments) == 5


def test_the_commit_is_the_one_that_env_check_looks_for() -> None:
    source = environments.find("calvin").source
    assert source is not None
    assert source.commit == settings_of(DEFINITION).commit
    assert source.variable == "PROCTOR_CALVIN_ROOT"


def test_episodes_are_made_of_sequences_and_give_them_back() -> None:
    chains = [chain_of(episode) for episode in VERSION.episodes[:3]]
    without_starts = tuple(replace(episode, initial_state=None) for episode in VERSION.episodes[:3])
    assert episodes_of(chains) == without_starts


def test_every_start_is_recorded_and_follows_from_its_condition_alone() -> None:
    starts: dict[Condition, set[tuple[float, ...] | None]] = {}
    for episode in VERSION.episodes:
        starts.setdefault(condition_of(episode), set()).add(episode.initial_state)
    assert len(starts) == 192
    for condition, states in starts.items():
        (state,) = states
        assert state is not None
        robot, scene = np.split(np.array(state), [15])
        np.testing.assert_allclose(robot, robot_start(), atol=1e-4)
        np.testing.assert_allclose(scene[:6], scene_start(condition)[:6], atol=1e-3)
        np.testing.assert_allclose(scene[6:], scene_start(condition)[6:], atol=0.01)


def test_all_three_versions_have_the_same_episodes() -> None:
    for name in VERSIONS:
        assert find_version(name).episodes == VERSION.episodes


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (None, "settings.start"),
        ({"led": 1}, "missing required field"),
        ({"led": 1, "lightbulp": 1}, "lightbulb"),
    ],
)
def test_an_episode_without_a_proper_start_is_the_benchmarks_fault(start: object, message: str) -> None:
    episode = replace(VERSION.episodes[0], settings={} if start is None else {"start": start})
    with pytest.raises(BenchmarkFault, match=message):
        condition_of(episode)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scene": "calvin_scene_E"}, "calvin_scene_E"),
        ({"renderer": "vulkan"}, "vulkan"),
        ({"comit": "0"}, "did you mean 'commit'"),
    ],
)
def test_settings_that_name_no_simulator_are_the_benchmarks_fault(
    changes: dict[str, str], message: str
) -> None:
    with pytest.raises(BenchmarkFault, match=message):
        settings_of(replace(DEFINITION, settings={**DEFINITION.settings, **changes}))


def test_the_command_writes_a_draft_and_leaves_a_frozen_version_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chains = [chain_of(episode) for episode in VERSION.episodes[:2]]
    monkeypatch.setattr(manifest, "official_sequences", lambda: chains)
    assert manifest.main([str(tmp_path)]) == 0
    assert len((tmp_path / "episodes.jsonl").read_text().splitlines()) == 2
    (tmp_path / "FROZEN.json").write_text("{}")
    assert manifest.main([str(tmp_path)]) == 2
    assert "is frozen" in capsys.readouterr().err


def test_a_condition_keeps_the_order_of_its_fields_whatever_the_order_in_the_file() -> None:
    world = condition_of(VERSION.episodes[0]).world()
    assert list(world) == list(Condition.__struct_fields__)
