"""What a definition and its episodes must agree on."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from proctor.benchmarks.checks import check_definition, check_episodes
from proctor.benchmarks.contract import Episode, Segment
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    FeatureDefinition,
    GripperCommand,
)
from proctor.errors import UnknownNameError, UsageError
from proctor.testing.toy_versions import GRIPPING, toy_definition, toy_episodes

DEFINITION = toy_definition(("reach", "park"))
EPISODES = toy_episodes(DEFINITION, 3)
ACTION = DEFINITION.actions[0]


def with_feature(**changes: object) -> BenchmarkDefinition:
    image = next(feature for feature in DEFINITION.features if feature.kind == "image")
    return replace(DEFINITION, features=(replace(image, **changes),))


def with_action(**changes: object) -> BenchmarkDefinition:
    return replace(DEFINITION, actions=(replace(ACTION, **changes),))


def with_gripper(**changes: object) -> BenchmarkDefinition:
    definition = replace(DEFINITION, **GRIPPING)
    return replace(definition, grippers=(replace(definition.grippers[0], **changes),))


def test_a_gripper_that_is_where_it_says_is_sound() -> None:
    check_definition(with_gripper())


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (with_gripper(feature="state.griper"), "unknown state feature of a gripper 'state.griper'"),
        (with_gripper(feature="images.primary"), "unknown state feature of a gripper"),
        (with_gripper(index=1), r"gripper state.gripper: index 1 is no position in shape \(1,\)"),
        (with_gripper(open=1.0), "open and closed are both 1.0"),
        (with_gripper(open=math.inf), "open inf is not finite"),
        (with_gripper(commands={"toy.other": GripperCommand(2, 0.0, 1.0)}), "unknown action of gripper"),
        (
            with_gripper(commands={"toy.velocity-gripper-v1": GripperCommand(3, 0.0, 1.0)}),
            "action toy.velocity-gripper-v1: index 3 is no position",
        ),
    ],
)
def test_a_gripper_that_is_nowhere_is_refused(definition: BenchmarkDefinition, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_definition(definition)


def test_the_toy_definition_is_sound() -> None:
    check_definition(DEFINITION)
    check_episodes(DEFINITION, EPISODES)


REPEATED_ACTION: tuple[ActionDefinition, ...] = (ACTION, ACTION)
NUMBERS = FeatureDefinition(name="state.x", kind="state", dtype="float32", shape=(2,))
TEXT = FeatureDefinition(name="language.instruction", kind="language")


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (replace(DEFINITION, tasks=DEFINITION.tasks * 2), "task id more than once: park, reach"),
        (replace(DEFINITION, features=DEFINITION.features * 2), "feature more than once: images.mirror"),
        (
            replace(DEFINITION, actions=REPEATED_ACTION),
            "action representation more than once: toy.velocity-v1",
        ),
        (with_action(low=(-1.0,)), "toy.velocity-v1: low has 1 values for dimension 2"),
        (with_action(high=(1.0, 1.0, 1.0)), "high has 3 values for dimension 2"),
        (with_action(low=(-1.0, 1.0)), "low 1.0 is not below high 1.0 at position 1"),
        (with_action(low=(-1.0, math.nan)), "low nan is not below"),
        (with_action(dtype="object"), "dtype 'object' is not"),
        (with_action(dtype="flaot32"), "dtype 'flaot32' is not"),
        (with_feature(dtype="float32"), "an image is uint8"),
        (with_feature(shape=(64, 64)), "an image is uint8"),
        (with_feature(shape=(64, 64, 4)), "an image is uint8"),
        (with_feature(orientation=None), "states its orientation"),
        (with_feature(codec=None), "its codec"),
        (with_feature(name="state.primary"), "belongs under another prefix"),
        (with_feature(name="privileged.primary", required=True), "cannot be required"),
        (replace(DEFINITION, features=(replace(NUMBERS, shape=None),)), "needs a dtype and a shape"),
        (replace(DEFINITION, features=(replace(NUMBERS, shape=(0,)),)), "needs a dtype and a shape"),
        (replace(DEFINITION, features=(replace(NUMBERS, dtype="str"),)), "dtype 'str' is not"),
        (replace(DEFINITION, features=(replace(TEXT, shape=(1,)),)), "neither dtype nor shape"),
        (replace(DEFINITION, suites={}), "at least one is needed"),
        (replace(DEFINITION, suites={"all": ("reach",)}), "it lacks park"),
        (
            replace(DEFINITION, suites={"all": ("reach", "park", "park")}),
            "suite all: task more than once: park",
        ),
        (
            replace(DEFINITION, tasks=(replace(DEFINITION.tasks[0], weight=math.inf), DEFINITION.tasks[1])),
            "task reach: weight inf is not finite",
        ),
        (replace(DEFINITION, control_hz=math.inf), "control_hz inf is not finite"),
        (replace(DEFINITION, initial_state_tolerance=math.inf), "initial_state_tolerance inf is not finite"),
        (with_action(low=(-1.0, -math.inf)), "toy.velocity-v1: low -inf is not finite"),
        (with_action(high=(math.inf, 1.0)), "toy.velocity-v1: high inf is not finite"),
    ],
)
def test_a_contradiction_is_refused_by_name(definition: BenchmarkDefinition, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_definition(definition)


def test_a_suite_with_an_unknown_task_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown task in suite all 'raech'; did you mean 'reach'"):
        check_definition(replace(DEFINITION, suites={"all": ("raech", "park")}))


def changed(position: int, **changes: object) -> list[Episode]:
    episodes = list(EPISODES)
    episodes[position] = replace(episodes[position], **changes)
    return episodes


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        ([*EPISODES, EPISODES[0]], "episode more than once: reach/0"),
        (EPISODES[:3], "task park has no episode"),
        (
            EPISODES[1:],
            "task reach: episode index 2 is out of range; its 2 episodes run from 0 to 1 without a gap",
        ),
        (changed(0, index=-1, id="reach/-1/0"), "task reach: episode index -1 is out of range"),
        (changed(0, segments=()), "reach/0/0 has no segment"),
        (changed(0, segments=(Segment("go", 0),)), "reach/0/0: horizon 0 must be at least 1"),
        (changed(0, id="reach/1/0"), "must be 'reach/0/0'"),
        (changed(0, repetition=1), "repetition 1: must be 'reach/0/0'"),
    ],
)
def test_bad_episodes_are_refused_by_name(episodes: list[Episode], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_episodes(DEFINITION, episodes)


def test_an_episode_of_an_unknown_task_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="'prak'; did you mean 'park'"):
        check_episodes(DEFINITION, changed(5, task="prak", id="prak/2/0"))
