"""Lanes over a synthetic play table: whose subtask is judged, from when, and where a sequence ends.

Nothing here is CALVIN's simulation. The table is a counter of steps, and its oracle says that a subtask was
done once as many steps lie between two infos as the test says.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from proctor.benchmarks.calvin.starts import scene_start
from proctor.benchmarks.calvin.subtasks import SUBTASKS
from proctor.benchmarks.contract import Episode
from proctor.benchmarks.registry import find_version
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.evaluation.protocol import RunSettings
from proctor.evaluation.record import EpisodeRecord, Outcome
from proctor.evaluation.rollout import run_episode
from proctor.policy import ActionChunk, EpisodeContext, Observation, PolicyCapabilities
from proctor.wire.session import SessionDescription

VERSION = find_version("calvin-abc-d-v1")
DEFINITION = VERSION.definition
EPISODE = replace(VERSION.episodes[0], initial_state=None)  # the synthetic table starts elsewhere
NEVER = 10_000
OBSERVED = ("images.static", "state.proprioception", "language.instruction")


class SyntheticTable:
    """Counts steps. `needed`: steps after its beginning at which a subtask is done."""

    needed: Mapping[str, int] = {}

    def __init__(self, root: Path, settings: object) -> None:
        self.subtasks, self.cameras = tuple(SUBTASKS), ("static", "gripper")
        self.steps, self.closed = 0, 0
        self.starts: list[np.ndarray] = []
        self.commands: list[Any] = []

    def start(self, robot: np.ndarray, scene: np.ndarray, seed: int) -> None:
        self.steps = 0
        self.starts.append(scene)

    def step(self, action: Any) -> dict[str, int]:
        self.steps += 1
        self.commands.append(action)
        return self.info()

    def info(self) -> dict[str, int]:
        return {"steps": self.steps}

    def achieved(self, subtask: str, start: Mapping[str, int], now: Mapping[str, int]) -> bool:
        return now["steps"] - start["steps"] == self.needed.get(subtask, NEVER)

    def robot_state(self) -> np.ndarray:
        return np.arange(15.0) + self.steps

    def scene_state(self) -> np.ndarray:
        return np.zeros(24)

    def quaternion(self, euler: np.ndarray) -> tuple[float, ...]:
        return (0.6, 0.0, 0.0, 0.8)

    def render(self, camera: str) -> np.ndarray:
        side = {"static": 200, "gripper": 84}[camera]
        return np.full((side, side, 3), self.steps % 256, np.uint8)

    def close(self) -> None:
        self.closed += 1


class Session:
    """A policy that opens the gripper and stays, and a list of what it was told."""

    def __init__(self) -> None:
        self.begun: list[EpisodeContext] = []
        self.seen: list[Observation] = []
        self.ended: list[str] = []
        self.late_replies = 0
        self.description = SessionDescription(
            dialect="synthetic/1",
            endpoint="synthetic:",
            capabilities=PolicyCapabilities(supported_benchmarks=("calvin",), required_features=()),
            action_representation="calvin.relative-v1",
            action_representation_source="benchmark_default",
            chunk_owner="worker",
        )

    def begin(self, context: EpisodeContext) -> None:
        self.begun.append(context)

    def act(self, observation: Observation) -> ActionChunk:
        self.seen.append(observation)
        actions = np.zeros((10, 7), np.float32)
        actions[:, 6] = 1
        return ActionChunk(actions)

    def end(self, episode_id: str, outcome: str) -> None:
        self.ended.append(outcome)

    def close(self) -> None:
        pass


@pytest.fixture
def lane(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a lane whose subtasks take the given numbers of steps; a representation may be named."""
    monkeypatch.setitem(sys.modules, "pybullet", ModuleType("pybullet"))
    from proctor.benchmarks.calvin import environment

    monkeypatch.setattr(environment.checkouts, "require", lambda *_: Path("synthetic"))

    def make(needed: Mapping[str, int] | None = None, action: int = 0, **changes: Any) -> Any:
        table = type("Table", (SyntheticTable,), {"needed": needed or {}})
        monkeypatch.setattr(environment, "PlayTable", table)
        definition = replace(DEFINITION, **changes)
        return environment.CalvinEnvironment(definition, definition.tasks[0], definition.actions[action])

    return make


def play(lane: Any, session: Session, episode: Episode = EPISODE) -> EpisodeRecord:
    settings = RunSettings(
        run="synthetic",
        benchmark=DEFINITION,
        benchmark_hash=VERSION.hash,
        policy_endpoints=("synthetic:",),
        run_seed=0,
        observe=OBSERVED,
        action_representation="calvin.relative-v1",
        execute_steps=DEFINITION.execute_steps,
        record="none",
        record_features=(),
        act_timeout_s=10.0,
        run_directory="",
    )
    return run_episode(lane, session, episode, settings)


def first(count: int, steps: int = 25) -> dict[str, int]:
    """The first subtasks of the episode are done after so many steps each."""
    return {segment.predicate: steps for segment in EPISODE.segments[:count]}


def test_a_sequence_of_five_done_subtasks_is_a_success(lane: Any) -> None:
    record = play(lane(first(5)), Session())
    assert record.outcome is Outcome.SUCCESS
    assert [segment.steps for segment in record.segments] == [25] * 5
    assert (record.steps, record.metrics["segments_passed"]) == (125, 5)


def test_the_policy_is_reset_for_every_subtask_with_its_instruction(lane: Any) -> None:
    session = Session()
    play(lane(first(5)), session)
    assert [(c.segment, c.instruction, c.horizon) for c in session.begun] == [
        (number, segment.instruction, 360) for number, segment in enumerate(EPISODE.segments)
    ]
    assert len(session.ended) == 5
    spoken = [observation.features["language.instruction"] for observation in session.seen]
    assert spoken == [segment.instruction for segment in EPISODE.segments for _ in range(3)]


def test_the_sequence_stops_at_the_first_subtask_that_takes_longer_than_360_steps(lane: Any) -> None:
    session = Session()
    record = play(lane({**first(5), EPISODE.segments[2].predicate: 361}), session)
    assert record.outcome is Outcome.FAILURE
    assert [segment.steps for segment in record.segments] == [25, 25, 360]
    assert record.metrics["segments_passed"] == 2
    assert len(session.begun) == 3


def test_a_subtask_done_in_the_very_last_step_counts(lane: Any) -> None:
    record = play(lane({**first(5), EPISODE.segments[2].predicate: 360}), Session())
    assert record.outcome is Outcome.SUCCESS


def test_a_subtask_begins_with_a_look_at_the_table_as_it_is(lane: Any) -> None:
    session = Session()
    play(lane(first(1)), session)
    begins = [observation for observation in session.seen if observation.step == 25]
    assert [o.features["state.proprioception"][0] for o in begins] == [25.0]


def test_only_the_active_subtask_is_judged_and_from_its_own_beginning(lane: Any) -> None:
    one, two = EPISODE.segments[:2]
    environment = lane({one.predicate: 2, two.predicate: 1})
    environment.begin(EPISODE, ())
    action = environment.hold_action(None)
    assert [environment.step(action).success for _ in range(3)] == [False, True, False]
    environment.enter_segment(1, ())
    assert [environment.step(action).success for _ in range(2)] == [True, False]


def test_a_start_is_the_one_of_its_condition(lane: Any) -> None:
    environment = lane()
    reset = environment.begin(EPISODE, ("images.gripper",))
    from proctor.benchmarks.calvin.manifest import condition_of

    np.testing.assert_array_equal(environment._table.starts[0], scene_start(condition_of(EPISODE)))
    assert reset.initial_state.shape == (39,)
    assert reset.observation["images.gripper"].shape == (84, 84, 3)
    assert not reset.success


def test_absolute_targets_reach_upstream_as_its_triple(lane: Any) -> None:
    environment = lane(action=1)
    environment.begin(EPISODE, ())
    environment.step(environment.hold_action(None))
    position, xyzw, gripper = environment._table.commands[0]
    np.testing.assert_allclose(position, [0, 1, 2])
    np.testing.assert_allclose(xyzw, [0.6, 0.0, 0.0, 0.8], atol=1e-6)
    assert gripper == 1


def test_a_predicate_that_the_oracle_does_not_know_is_the_benchmarks_fault(lane: Any) -> None:
    wrong = replace(EPISODE, segments=(replace(EPISODE.segments[0], predicate="open_drawr"),))
    with pytest.raises(BenchmarkFault, match="did you mean 'open_drawer'"):
        lane().begin(wrong, ())


def test_a_camera_that_upstream_does_not_have_is_named_with_those_it_has(lane: Any) -> None:
    features = (replace(DEFINITION.features[0], camera="tactile"), *DEFINITION.features[1:])
    with pytest.raises(UnknownNameError, match="static"):
        lane(features=features)


def test_pictures_that_upstream_does_not_make_are_refused(lane: Any) -> None:
    with pytest.raises(BenchmarkFault, match="family calvin makes upstream's pictures only"):
        lane(render=replace(DEFINITION.render, name="fast"))


def test_a_representation_of_another_benchmark_is_refused(lane: Any) -> None:
    actions = (replace(DEFINITION.actions[0], representation="metaworld.delta-eef-v1"),)
    with pytest.raises(UnknownNameError, match=r"calvin\.relative-v1"):
        lane(actions=actions)


def test_closing_twice_closes_once(lane: Any) -> None:
    environment = lane()
    environment.close()
    environment.close()
    assert environment._table.closed == 1
