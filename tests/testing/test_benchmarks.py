"""The benchmark kit passes the toy family and catches each planted violation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from proctor.actions.limits import check_action
from proctor.benchmarks.contract import Environment, Episode, Family, Reset, StepResult
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import EnvironmentMissing, InvalidActionError, UnknownNameError
from proctor.testing import benchmark_rules as rules
from proctor.testing import benchmarks as kit
from proctor.testing.benchmark_rules import CHECKS, Subject
from proctor.testing.benchmarks import BenchmarkConformance, examine, main
from proctor.testing.fresh_process import digests_in_a_new_process
from proctor.testing.toy import ToyEnvironment, ToyFamily
from proctor.testing.toy_versions import toy_version, write_toy_version

VERSION = toy_version(("reach", "park", "cliff", "tour"), episodes=6)


class TestToy(BenchmarkConformance):
    def version(self) -> BenchmarkVersion:
        return VERSION

    def tasks(self) -> list[str]:
        return [task.id for task in VERSION.definition.tasks]


class Remembers(ToyEnvironment):
    """Starts where the last episode ended."""

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        last = self._position
        reset = super().begin(episode, observe)
        self._position = self._position + 0.001 * last
        return replace(reset, observation=self._observe(observe))


class CountsEpisodes(ToyEnvironment):
    """A metric depends on how many episodes this lane has run."""

    count = 0

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        self.count += 1
        return super().begin(episode, observe)

    def step(self, action: Any, observe: Collection[str] = ()) -> StepResult:
        return replace(super().step(action, observe), metrics={"episodes": float(self.count)})


class ShowsTooMuch(ToyEnvironment):
    def _observe(self, names: Collection[str]) -> dict[str, Any]:
        return super()._observe({*names, "state.proprioception"})


class WrongDtype(ToyEnvironment):
    def _observe(self, names: Collection[str]) -> dict[str, Any]:
        seen = super()._observe(names)
        return {k: v.astype(np.float64) if k == "state.proprioception" else v for k, v in seen.items()}


class SeesByLooking(ToyEnvironment):
    """Each look pushes the mass: what is seen depends on how often one looked."""

    def step(self, action: Any, observe: Collection[str] = ()) -> StepResult:
        if observe:
            self._velocity = self._velocity + 1e-3
        return super().step(action, observe)


class HandsOutItsOwn(ToyEnvironment):
    """Returns the array it goes on writing to."""

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        super().__init__(definition, task, action)
        self._buffer = np.zeros(4, np.float32)

    def _observe(self, names: Collection[str]) -> dict[str, Any]:
        seen = super()._observe(names)
        if "state.proprioception" in seen:
            self._buffer[:] = seen["state.proprioception"]
            seen["state.proprioception"] = self._buffer
        return seen


class GoesOnByItself(ToyEnvironment):
    def step(self, action: Any, observe: Collection[str] = ()) -> StepResult:
        self._segment = 1
        return super().step(action, observe)


class GoesOnUnsaid(ToyEnvironment):
    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, Any]:
        return super().enter_segment(0, observe)


class GoesOnWithAStep(ToyEnvironment):
    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, Any]:
        super().enter_segment(number, observe)
        return self.step(self.hold_action(None), observe).observation


class WritesToActions(ToyEnvironment):
    def step(self, action: Any, observe: Collection[str] = ()) -> StepResult:
        action *= 0.5
        return super().step(action, observe)


class HoldsTooHard(ToyEnvironment):
    def hold_action(self, last: Any) -> Any:
        return np.full(2, 2.0, np.float32)


class HoldsInDoubles(ToyEnvironment):
    def hold_action(self, last: Any) -> Any:
        return np.zeros(2, np.float64)


class ClosesOnce(ToyEnvironment):
    def close(self) -> None:
        assert self._goals is not None, "closed twice"
        self._goals = None  # type: ignore[assignment]


class IgnoresSeeds(ToyEnvironment):
    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        return super().begin(replace(episode, seed=0), observe)


class IgnoresUnknown(ToyEnvironment):
    def _refuse_unknown(self, names: Collection[str]) -> None:
        return None

    def _observe(self, names: Collection[str]) -> dict[str, Any]:
        return super()._observe([name for name in names if name in self._known])


class BreaksAtLimits(ToyEnvironment):
    def step(self, action: Any, observe: Collection[str] = ()) -> StepResult:
        result = super().step(action, observe)
        return replace(result, metrics={"ratio": np.inf if np.abs(action).max() >= 1 else 0.0})


class RendersStaleFrames(ToyEnvironment):
    """A lane that is freed spoils the frames of those that live."""

    freed = 0

    def _frame(self) -> np.ndarray:
        return super()._frame() + np.uint8(RendersStaleFrames.freed)

    def __del__(self) -> None:
        RendersStaleFrames.freed += 1


PLANTED: list[tuple[type[ToyEnvironment], Callable[[Subject], None], str]] = [
    (Remembers, rules.begin_is_a_function_of_the_episode, "after another episode"),
    (CountsEpisodes, rules.begin_is_a_function_of_the_episode, "result of step 1 differs after another"),
    (ShowsTooMuch, rules.observation_is_what_was_asked_for, r"asked for \[\], got"),
    (WrongDtype, rules.observation_is_what_was_asked_for, "state.proprioception is"),
    (
        GoesOnByItself,
        rules.segments_are_entered_when_told,
        "language.instruction is {.* in the first segment",
    ),
    (GoesOnUnsaid, rules.segments_are_entered_when_told, "is 'the first' in the second segment"),
    (GoesOnWithAStep, rules.segments_are_entered_when_told, "state.proprioception changed between"),
    (SeesByLooking, rules.observation_does_not_depend_on_the_chunk, "step 4 of chunk 4"),
    (HandsOutItsOwn, rules.observation_is_a_copy, "after some steps"),
    (RendersStaleFrames, rules.frames_are_those_of_a_new_process, "2 frames differ .* step 0 images.mirror"),
    (WritesToActions, rules.action_is_left_alone, "changed the action"),
    (HoldsTooHard, rules.hold_action_is_valid, "outside the limits"),
    (HoldsInDoubles, rules.hold_action_is_valid, "hold_action is"),
    (ClosesOnce, rules.close_can_be_repeated, "closed twice"),
    (IgnoresSeeds, rules.seeds_matter, "5 episodes have 1 different"),
    (IgnoresSeeds, rules.starts_are_the_recorded_ones, "reach/1/0 starts"),
    (IgnoresUnknown, rules.unknown_features_are_refused, "was not refused"),
    (BreaksAtLimits, rules.limits_can_be_applied, "ratio is not finite"),
]


def family_of(environment: type[ToyEnvironment]) -> Family:
    class Planted(ToyFamily):
        def open(
            self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
        ) -> Environment:
            return environment(definition, task, action)

    return Planted()


def subject_of(family: Family, version: BenchmarkVersion) -> Subject:
    return Subject(family, version, version.definition.tasks[0], version.definition.actions[0])


@pytest.mark.parametrize(
    ("environment", "check", "problem"), PLANTED, ids=[f"{e.__name__}-{c.__name__}" for e, c, _ in PLANTED]
)
def test_a_planted_violation_is_caught(
    environment: type[ToyEnvironment], check: Callable[[Subject], None], problem: str
) -> None:
    subject = subject_of(family_of(environment), VERSION)
    with pytest.raises(AssertionError, match=problem):
        check(subject)


def test_other_packages_are_caught() -> None:
    class Old(ToyFamily):
        def packages(self) -> Mapping[str, str]:
            return {"numpy": "1.0"}

    version = toy_version(packages={"numpy": "2.0"})
    with pytest.raises(AssertionError, match=r"numpy is 1\.0, defined on 2\.0"):
        rules.packages_are_the_defined_ones(subject_of(Old(), version))


def test_frames_of_a_family_that_a_new_process_cannot_find_are_not_compared() -> None:
    class Synthetic:
        name = "toy"

        def open(
            self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
        ) -> Environment:
            raise AssertionError("a lane was opened")

        def packages(self) -> Mapping[str, str]:
            return {}

    rules.frames_are_those_of_a_new_process(subject_of(Synthetic(), VERSION))


def test_a_new_process_that_fails_says_why() -> None:
    broken = toy_version(("reach", "park"), episodes=2, settings={"faults": [{"kind": "raise", "step": 3}]})
    with pytest.raises(AssertionError, match=r"a new process could not show its frames: .*planned fault"):
        digests_in_a_new_process(broken, "reach", "toy.velocity-v1")


class RefusesCorners(ToyEnvironment):
    """Both limits stand for nothing here."""

    def step(self, action: Any, observe: Collection[str] = ()) -> StepResult:
        raise InvalidActionError("a corner is no velocity")


def test_limits_that_stand_for_nothing_may_be_refused() -> None:
    rules.limits_can_be_applied(subject_of(family_of(RefusesCorners), VERSION))


def two_representations() -> BenchmarkVersion:
    (velocity,) = VERSION.definition.actions
    other = replace(velocity, representation="toy.again-v1", limits="pass")
    definition = replace(VERSION.definition, actions=(velocity, other))
    return dataclasses.replace(VERSION, definition=definition)


def test_every_representation_is_examined_and_named() -> None:
    found = [finding.representation for finding in examine(two_representations())]
    assert found == ["toy.velocity-v1"] * len(CHECKS) + ["toy.again-v1"] * len(CHECKS)


def test_one_representation_can_be_chosen() -> None:
    found = examine(two_representations(), representations=["toy.again-v1"])
    assert {finding.representation for finding in found} == {"toy.again-v1"}


def test_a_representation_that_the_version_lacks_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"toy\.velocity-v2.*did you mean 'toy\.velocity-v1'"):
        list(examine(VERSION, representations=["toy.velocity-v2"]))


def test_an_environment_is_opened_for_the_representation_examined() -> None:
    opened = []

    class Listening(ToyFamily):
        def open(
            self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
        ) -> Environment:
            opened.append(action.representation)
            return super().open(definition, task, action)

    version = two_representations()
    subject = Subject(Listening(), version, version.definition.tasks[0], version.definition.actions[1])
    rules.close_can_be_repeated(subject)
    assert set(opened) == {"toy.again-v1"}


def test_every_check_has_a_planted_violation() -> None:
    assert {check for _, check, _ in PLANTED} | {rules.packages_are_the_defined_ones} == set(CHECKS)


def test_the_command_prints_a_line_per_check_and_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    version = write_toy_version(tmp_path, ("reach", "park"))
    assert main([str(version.directory), "--tasks", "reach,park"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * len(CHECKS)
    assert all(line.startswith("ok") for line in lines)


def test_the_command_fails_and_names_the_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    version = write_toy_version(tmp_path, ("reach",), packages={"numpy": "0.1"})
    assert main([str(version.directory)]) == 1
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAIL")]
    assert len(failed) == 1
    assert failed[0].startswith("FAIL reach toy.velocity-v1 packages_are_the_defined_ones AssertionError:")


def test_a_simulator_that_cannot_run_stops_the_command_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Absent(ToyFamily):
        def open(
            self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
        ) -> Environment:
            raise EnvironmentMissing("the checkout is missing; run: proctor env check toy")

    monkeypatch.setattr(kit, "find_family", lambda name: Absent())
    version = write_toy_version(tmp_path, ("reach",))
    assert main([str(version.directory)]) == kit.CANNOT_RUN
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "STOP toy-v1: the checkout is missing; run: proctor env check toy"
    assert all(line.startswith("ok") for line in lines[:-1])


def test_the_class_says_what_to_override() -> None:
    with pytest.raises(NotImplementedError, match="override version"):
        BenchmarkConformance().version()


class _HoldsOpen:
    """A synthetic lane that says no more than how it holds still."""

    def hold_action(self, last: Any) -> np.ndarray:
        return np.array([0.3, 0.1, 0.5, 0.7, 0.7, 0.0, 1.0], np.float32)


@pytest.mark.parametrize("number", [0, 1])
def test_what_is_sent_means_something_in_its_representation(number: int) -> None:
    version = find_version("calvin-abc-d-v1")
    action = version.definition.actions[number]
    subject = Subject(ToyFamily(), version, version.definition.tasks[0], action)
    sent = subject.actions(_HoldsOpen())  # type: ignore[arg-type]
    for each in sent:
        check_action(each, action)
    assert {float(each[6]) for each in sent} == {-1.0, 1.0}
    assert len({each.tobytes() for each in sent}) > 3
