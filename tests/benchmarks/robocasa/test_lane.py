"""Lanes of both kinds, over a stand-in for upstream (`standin.py`)."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from msgspec.structs import replace

from proctor.benchmarks.registry import find_family
from proctor.benchmarks.robocasa import FAMILY
from proctor.benchmarks.robocasa.kitchen import Kitchen
from proctor.benchmarks.robocasa.lane import RoboCasaLane
from proctor.benchmarks.robocasa.layouts import Kind
from proctor.errors import BenchmarkFault, EnvironmentMissing, UnknownNameError

from .conftest import VERSIONS, Make, definition_of, episodes_of
from .standin import StandIn

KINDS = pytest.mark.parametrize("kind", ["gr1", "365"])


@KINDS
def test_a_start_follows_from_its_seed_whatever_was_before(make: Make, kind: Kind) -> None:
    lane, _ = make(kind)
    first, second, _ = episodes_of(kind)
    expected = lane.begin(first, ()).initial_state
    lane.step(np.ones(definition_of(kind).actions[0].dimension, np.float32))
    assert not np.array_equal(lane.begin(second, ()).initial_state, expected)
    np.random.rand()
    assert np.array_equal(lane.begin(first, ()).initial_state, expected)
    assert np.array_equal(make(kind)[0].begin(first, ()).initial_state, expected)


@KINDS
def test_frames_are_made_only_where_somebody_looks_and_are_upstreams(make: Make, kind: Kind) -> None:
    lane, made = make(kind)
    images = [f.name for f in definition_of(kind).features if f.kind == "image"]
    action = np.full(definition_of(kind).actions[0].dimension, 0.3, np.float32)
    lane.begin(episodes_of(kind)[0], images)
    made.env.rendered.clear()
    assert lane.step(action).observation == {}
    assert lane.step(action, ("state.proprioception",)).observation.keys() == {"state.proprioception"}
    assert made.env.rendered == []
    seen = lane.step(action, images).observation
    assert len(made.env.rendered) == len(images)

    other, everything = make(kind)
    other.begin(episodes_of(kind)[0], images)
    for _ in range(3):
        expected = other.step(action, images).observation
    for name in images:
        assert np.array_equal(seen[name], expected[name])
    assert len(everything.env.rendered) > 3 * len(images)


@KINDS
def test_what_is_handed_out_is_not_written_to_again(make: Make, kind: Kind) -> None:
    lane, _ = make(kind)
    names = [f.name for f in definition_of(kind).features if f.kind != "language"]
    seen = lane.begin(episodes_of(kind)[0], names).observation
    kept = {name: np.array(value) for name, value in seen.items()}
    lane.step(np.ones(definition_of(kind).actions[0].dimension, np.float32), names)
    for name in names:
        assert np.array_equal(seen[name], kept[name])


def test_gr1s_action_goes_to_arms_hands_and_waist_in_the_order_of_its_state(make: Make) -> None:
    lane, made = make("gr1")
    lane.begin(episodes_of("gr1")[0], ())
    lane.step(np.arange(29, dtype=np.float32))
    (command,) = made.commands
    assert {key: (value[0], value[-1]) for key, value in command.items()} == {
        "action.left_arm": (0, 6),
        "action.right_arm": (7, 13),
        "action.left_hand": (14, 19),
        "action.right_hand": (20, 25),
        "action.waist": (26, 28),
    }


def test_365s_action_goes_to_hand_gripper_base_and_mode(make: Make) -> None:
    lane, made = make("365")
    lane.begin(episodes_of("365")[0], ())
    lane.step(np.arange(12, dtype=np.float32))
    (command,) = made.commands
    assert {key: value.tolist() for key, value in command.items()} == {
        "action.end_effector_position": [0, 1, 2],
        "action.end_effector_rotation": [3, 4, 5],
        "action.gripper_close": [6],
        "action.base_motion": [7, 8, 9, 10],
        "action.control_mode": [11],
    }


def test_the_goal_is_looked_at_after_every_step_of_gr1(make: Make) -> None:
    lane, _ = make("gr1")
    lane.begin(episodes_of("gr1")[0], ())
    action = np.zeros(29, np.float32)
    assert [lane.step(action).success for _ in range(4)] == [False, False, True, False]


@pytest.mark.parametrize("every", [2, 3])
def test_success_between_two_looks_is_no_success(every: int) -> None:
    definition = definition_of("365")
    changed = replace(definition, settings={**definition.settings, "success_every": every})
    lane = RoboCasaLane(changed, changed.tasks[0], changed.actions[0], Kitchen(StandIn("365")))
    lane.begin(episodes_of("365")[0], ())
    found = [lane.step(np.zeros(12, np.float32)).success for _ in range(4)]
    assert found == [False, False, every == 3, False]


def test_a_waiting_gr1_is_told_its_targets_again_and_where_it_is_before_the_first(make: Make) -> None:
    lane, _ = make("gr1")
    state = lane.begin(episodes_of("gr1")[0], ("state.proprioception",)).observation["state.proprioception"]
    hold = lane.hold_action(None)
    assert np.array_equal(hold[:14], np.asarray(state)[:14])
    assert np.array_equal(hold[26:], np.asarray(state)[26:])
    assert not hold[14:26].any()
    last = np.arange(29, dtype=np.float32)
    assert np.array_equal(lane.hold_action(last), last)


def test_a_waiting_panda_does_not_move_and_keeps_its_hand_and_mode(make: Make) -> None:
    lane, _ = make("365")
    assert not lane.hold_action(None).any()
    assert lane.hold_action(np.ones(12, np.float32)).tolist() == [0] * 6 + [1] + [0] * 4 + [1]


@KINDS
def test_an_episode_that_nobody_recorded_is_refused_with_the_command(make: Make, kind: Kind) -> None:
    lane, _ = make(kind)
    with pytest.raises(BenchmarkFault, match=r"nobody has recorded them.*robocasa\.manifest"):
        lane.begin(VERSIONS[kind].episodes[0], ())


def test_another_sentence_than_the_recorded_one_is_refused_with_both(make: Make) -> None:
    lane, _ = make("gr1")
    episode = episodes_of("gr1")[0]
    said = episode.segments[0].instruction
    wrong = replace(episode, settings={"sentence": "move the moon"})
    with pytest.raises(BenchmarkFault, match=f"upstream says '{said}', recorded is 'move the moon'"):
        lane.begin(wrong, ())


@pytest.mark.parametrize("what", ["reset", "step", "close"])
def test_what_upstream_raises_is_the_benchmarks_fault(make: Make, what: str) -> None:
    lane, _ = make("gr1", raises=what)
    episode = episodes_of("gr1")[0]

    def play() -> None:
        lane.begin(episode, ())
        lane.step(np.zeros(29, np.float32))
        lane.close()

    with pytest.raises(BenchmarkFault, match=rf"RoboCasa's {what} raised ValueError: no place for the cup"):
        play()


def test_closing_twice_closes_once(make: Make) -> None:
    lane, made = make("365")
    lane.close()
    lane.close()
    assert made.closed == 1


def test_what_it_does_not_do_is_refused_by_name(make: Make) -> None:
    definition = definition_of("gr1")
    task, action, image, state = definition.tasks[0], definition.actions[0], *definition.features[:2]
    kitchen = Kitchen(StandIn("gr1"))

    def opened(**changes: object) -> RoboCasaLane:
        changed = replace(definition, **changes)  # type: ignore[arg-type]
        return RoboCasaLane(changed, task, changed.actions[0], kitchen)

    with pytest.raises(
        UnknownNameError, match=r"representation of RoboCasa 'robocasa\.gr1-joint-v2'; did you"
    ):
        opened(actions=(replace(action, representation="robocasa.gr1-joint-v2"),))
    with pytest.raises(UnknownNameError, match=r"image feature of RoboCasa 'images\.wrist'"):
        opened(features=(replace(image, name="images.wrist"),))
    with pytest.raises(
        UnknownNameError, match=r"camera of images\.primary 'egoviev'; did you mean 'egoview'"
    ):
        opened(features=(replace(image, camera="egoviev"),))
    with pytest.raises(UnknownNameError, match=r"feature of RoboCasa 'state\.proprio'"):
        opened(features=(replace(state, name="state.proprio"),))
    with pytest.raises(BenchmarkFault, match="makes upstream's pictures only"):
        opened(render=replace(definition.render, shadows=False))
    with pytest.raises(BenchmarkFault, match=r"unknown simulator in robocasa-gr1-v1, settings 'gr2'"):
        opened(settings={**definition.settings, "simulator": "gr2"})
    lane, _ = make("gr1")
    episode = episodes_of("gr1")[0]
    with pytest.raises(BenchmarkFault, match="predicate 'other'"):
        lane.begin(replace(episode, segments=(replace(episode.segments[0], predicate="other"),)), ())


def test_importing_the_family_imports_no_simulator() -> None:
    code = "import sys; import proctor.benchmarks.robocasa.lane; sys.exit('gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@KINDS
def test_opening_a_lane_without_the_simulator_names_the_command_that_builds_it(kind: Kind) -> None:
    assert find_family("robocasa") is FAMILY
    definition = definition_of(kind)
    with pytest.raises(
        EnvironmentMissing, match=rf"not installed .* proctor env build {definition.environment}"
    ):
        FAMILY.open(definition, definition.tasks[0], definition.actions[0])
