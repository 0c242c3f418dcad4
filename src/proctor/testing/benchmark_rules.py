"""The rules of `proctor.benchmarks.contract` as checks: each raises where an environment breaks one.

`proctor.testing.benchmarks` runs them, on whatever it is told.
"""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from proctor.actions.representations import REPRESENTATIONS, two_valued
from proctor.benchmarks.contract import Environment, Episode, Family, Reset, Segment, StepResult
from proctor.benchmarks.definition import ActionDefinition, FeatureDefinition, TaskDefinition
from proctor.benchmarks.family import installed_versions
from proctor.benchmarks.registry import find_family
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import InvalidActionError, UnknownNameError
from proctor.policy import FeatureValue
from proctor.policy.spec import PRIVILEGED
from proctor.testing.fresh_process import digests, digests_in_a_new_process

STEPS: Final = 20
"""Control steps a check drives an environment for: a multiple of every chunk length compared."""
CHUNKS: Final = (1, 4, 10)
REACH: Final = 0.2
"""Share of the way from holding still to a random action: far enough to move, near enough to stay intact."""

INSTRUCTION: Final = "language.instruction"
"""The text that is the segment's own. Other texts are the environment's."""

_WRITES: Final = 3
"""Observations that are written to, to see whether the environment notices."""

Observation = dict[str, FeatureValue]


@dataclass(frozen=True)
class Subject:
    """One task of one benchmark version under one action, with the family that makes its environments."""

    family: Family
    version: BenchmarkVersion
    task: TaskDefinition
    action: ActionDefinition

    @property
    def episodes(self) -> list[Episode]:
        """Episodes of the task, by index."""
        found = [episode for episode in self.version.episodes if episode.task == self.task.id]
        return sorted(found, key=lambda episode: episode.index)

    @property
    def features(self) -> list[FeatureDefinition]:
        """Features of the version."""
        return list(self.version.definition.features)

    @property
    def images(self) -> list[str]:
        """Names of the image features."""
        return [feature.name for feature in self.features if feature.kind == "image"]

    @contextmanager
    def environment(self) -> Iterator[Environment]:
        """Make a lane, and close it: there is never more than one, as some simulators need."""
        environment = self.family.open(self.version.definition, self.task, self.action)
        try:
            yield environment
        finally:
            environment.close()

    def actions(self, environment: Environment, seed: int = 0) -> list[NDArray[Any]]:
        """`STEPS` actions within limits, the same for the same seed and start."""
        low, high = np.array(self.action.low), np.array(self.action.high)
        hold = np.asarray(environment.hold_action(None), np.float64)
        random = np.random.Generator(np.random.PCG64(seed))
        aims = random.uniform(low, high, (STEPS, self.action.dimension))
        actions = np.clip(hold + REACH * (aims - hold), low, high)
        for index in two_valued(self.action.representation):
            actions[:, index] = np.where(aims[:, index] < 0, -1, 1)
        return [self._or_hold(action, hold) for action in actions.astype(self.action.dtype)]

    def _or_hold(self, action: NDArray[Any], hold: NDArray[Any]) -> NDArray[Any]:
        """The action, or `hold` where its numbers stand for nothing: three too long for a quaternion."""
        known = REPRESENTATIONS.get(self.action.representation)
        try:
            if known is not None and known.check is not None:
                known.check(action)
        except InvalidActionError:
            return hold.astype(self.action.dtype)
        return action


def begin_is_a_function_of_the_episode(subject: Subject) -> None:
    """The same start, and the same way on from it, whatever ran before and in a new environment."""
    episode, other = subject.episodes[0], subject.episodes[-1]
    names = [feature.name for feature in subject.features]
    with subject.environment() as environment:
        first = _trace(subject, environment, episode, names, every=STEPS)
        _trace(subject, environment, other, ())
        again = _trace(subject, environment, episode, names, every=STEPS)
    with subject.environment() as environment:
        _trace(subject, environment, other, ())
        fresh = _trace(subject, environment, episode, names, every=STEPS)
    _require_same_trace("after another episode", first, again)
    _require_same_trace("in a new environment", first, fresh)


def observation_is_what_was_asked_for(subject: Subject) -> None:
    """Exactly the named features, each with the declared dtype and shape, from `begin` and from `step`."""
    episode = subject.episodes[0]
    everything = [feature.name for feature in subject.features]
    with subject.environment() as environment:
        for names in ([], *([name] for name in everything), everything):
            require_features(subject, environment.begin(episode, names).observation, names)
            action = subject.actions(environment)[0]
            require_features(subject, environment.step(action, names).observation, names)


def segments_are_entered_when_told(subject: Subject) -> None:
    """Only `enter_segment` turns to the next segment, with its own instruction, and no time passes in it."""
    episode = subject.episodes[0]
    goals = [episode.segments[index].predicate for index in (0, -1)]
    first, second = (
        Segment(text, STEPS, goal) for text, goal in zip(("the first", "the second"), goals, strict=True)
    )
    episode = replace(episode, segments=(first, second))
    names = [feature.name for feature in subject.features]
    texts = [feature.name for feature in subject.features if feature.name == INSTRUCTION]
    with subject.environment() as environment:
        environment.begin(episode, ())
        steps = _until_terminated(environment, subject.actions(environment), names)
        seen = environment.enter_segment(1, names)
        again = environment.begin(episode, names).observation
    require_features(subject, seen, names)
    for name in texts:
        spoken = {result.observation[name] for result in steps} | {again[name]}
        _require(spoken == {first.instruction}, f"{name} is {spoken} in the first segment")
        _require(seen[name] == second.instruction, f"{name} is {seen[name]!r} in the second segment")
    for feature in subject.features:
        if feature.kind == "state" and not feature.name.startswith(PRIVILEGED):
            before, after = steps[-1].observation[feature.name], seen[feature.name]
            _require(np.array_equal(before, after), f"{feature.name} changed between two segments")


def observation_does_not_depend_on_the_chunk(subject: Subject) -> None:
    """What is seen at step 20 is bit-identical if every step, every fourth or every tenth was observed."""
    names = [feature.name for feature in subject.features]
    with subject.environment() as environment:
        traces = [_trace(subject, environment, subject.episodes[0], names, every=chunk) for chunk in CHUNKS]
    for chunk, trace in zip(CHUNKS[1:], traces[1:], strict=True):
        for step, result in enumerate(trace.steps, start=1):
            whole = traces[0].steps[step - 1]
            _require(result.success == whole.success, f"success at step {step} differs with chunk {chunk}")
            if result.observation:
                _require_same(f"step {step} of chunk {chunk}", whole.observation, result.observation)


def observation_is_a_copy(subject: Subject) -> None:
    """Arrays handed out never change, and writing to them changes nothing."""
    names = [feature.name for feature in subject.features]
    with subject.environment() as environment:
        reset = environment.begin(subject.episodes[0], names)
        kept, state = _copy(reset.observation), reset.initial_state.copy()
        actions = subject.actions(environment)[:_WRITES]
        untouched = _until_terminated(environment, actions, names)
        _require_same("the first observation, after some steps", kept, reset.observation)
        _require(np.array_equal(state, reset.initial_state), "the initial state changed after its return")
        reset = environment.begin(subject.episodes[0], names)
        _scribble(reset.observation)
        reset.initial_state.fill(0)
        for step, action in enumerate(actions[: len(untouched)]):
            result = environment.step(action, names)
            _require_same(f"step {step + 1} after writing", untouched[step].observation, result.observation)
            _scribble(result.observation)


def frames_are_those_of_a_new_process(subject: Subject) -> None:
    """A lane after another one, which is freed late, shows what the first lane of a new process shows.

    A render context that is freed while another one is current leaves that one with wrong frames and no
    error. Not examined where a new process would find another family of that name, or no frames.
    """
    definition = subject.version.definition
    findable = isinstance(subject.family, type(find_family(definition.family)))
    if not findable or not subject.images or subject.action != definition.actions[0]:
        return
    other = dataclasses.replace(subject, task=definition.tasks[-1])
    with other.environment() as used:
        used.begin(other.episodes[-1], subject.images)
    with subject.environment() as environment:
        environment.begin(subject.episodes[-1], subject.images)
        del used
        gc.collect()
        here = digests(environment, subject.episodes[0], subject.actions, subject.images)
    there = digests_in_a_new_process(subject.version, subject.task.id, subject.action.representation)
    _require(here.keys() == there.keys(), "the episode ends at another step in a new process")
    stale = [when for when, digest in there.items() if here[when] != digest]
    _require(not stale, f"{len(stale)} frames differ from a new process's: step {', step '.join(stale)}")


def action_is_left_alone(subject: Subject) -> None:
    """`step` does not write to the action it is given."""
    with subject.environment() as environment:
        environment.begin(subject.episodes[0], ())
        for action in subject.actions(environment):
            given = action.copy()
            result = environment.step(action)
            _require(np.array_equal(given, action), "step changed the action it was given")
            if result.terminated:
                break


def hold_action_is_valid(subject: Subject) -> None:
    """The waiting action has the declared dtype and size, is within limits, and can be applied."""
    definition = subject.action
    with subject.environment() as environment:
        environment.begin(subject.episodes[0], ())
        for last in (None, subject.actions(environment)[0]):
            hold = environment.hold_action(last)
            found = (str(hold.dtype), hold.shape)
            _require(found == (definition.dtype, (definition.dimension,)), f"hold_action is {found}")
            inside = np.all((hold >= np.array(definition.low)) & (hold <= np.array(definition.high)))
            _require(bool(inside), f"hold_action {hold} is outside the limits")
            environment.step(hold)


def limits_can_be_applied(subject: Subject) -> None:
    """Actions at both limits give finite states and metrics.

    A corner of the limits may stand for nothing, such as a turn: then it is refused as an invalid action.
    """
    definition = subject.action
    names = [feature.name for feature in subject.features if feature.kind == "state"]
    with subject.environment() as environment:
        environment.begin(subject.episodes[0], ())
        for limit in (definition.low, definition.high):
            try:
                result = environment.step(np.array(limit, definition.dtype), names)
            except InvalidActionError:
                continue
            for name, value in (result.observation | dict(result.metrics)).items():
                _require(bool(np.all(np.isfinite(np.asarray(value, np.float64)))), f"{name} is not finite")
            if result.terminated:
                break


def close_can_be_repeated(subject: Subject) -> None:
    """`close` may come before `begin`, and twice."""
    with subject.environment():
        pass
    with subject.environment() as environment:
        environment.begin(subject.episodes[0], ())
        environment.close()


def seeds_matter(subject: Subject) -> None:
    """Episodes start differently."""
    with subject.environment() as environment:
        starts = [environment.begin(episode, ()).initial_state.tobytes() for episode in subject.episodes[:5]]
    _require(
        len(set(starts)) == len(starts),
        f"{len(starts)} episodes have {len(set(starts))} different starts: seeds do not decide them",
    )


def starts_are_the_recorded_ones(subject: Subject) -> None:
    """`begin` builds the recorded initial states, within the tolerance. Holds for a draft without any."""
    tolerance = subject.version.definition.initial_state_tolerance
    with subject.environment() as environment:
        for episode in subject.episodes:
            if episode.initial_state is None:
                continue
            found = environment.begin(episode, ()).initial_state
            recorded = np.array(episode.initial_state)
            _require(
                found.shape == recorded.shape, f"{episode.id}: {found.size} values, {recorded.size} recorded"
            )
            difference = float(np.max(np.abs(found - recorded), initial=0.0))
            _require(difference <= tolerance, f"{episode.id} starts {difference:.3g} away from the record")


def unknown_features_are_refused(subject: Subject) -> None:
    """Asking for a feature that is not declared is an error that names the declared ones."""
    with subject.environment() as environment:
        environment.begin(subject.episodes[0], ())
        action = subject.actions(environment)[0]
        for ask in (
            lambda: environment.begin(subject.episodes[0], ["state.undeclared"]),
            lambda: environment.step(action, ["state.undeclared"]),
        ):
            try:
                ask()
            except UnknownNameError:
                continue
            raise AssertionError("an undeclared feature was not refused with UnknownNameError")


def packages_are_the_defined_ones(subject: Subject) -> None:
    """The installed simulator is the one that the version is defined on."""
    defined = subject.version.definition.packages
    installed = {**installed_versions(defined), **subject.family.packages()}
    for package, wanted in defined.items():
        _require(
            installed.get(package) == wanted, f"{package} is {installed.get(package)}, defined on {wanted}"
        )


Check = Callable[[Subject], None]

CHECKS: Final[tuple[Check, ...]] = (
    packages_are_the_defined_ones,
    close_can_be_repeated,
    begin_is_a_function_of_the_episode,
    seeds_matter,
    starts_are_the_recorded_ones,
    observation_is_what_was_asked_for,
    segments_are_entered_when_told,
    unknown_features_are_refused,
    observation_does_not_depend_on_the_chunk,
    observation_is_a_copy,
    frames_are_those_of_a_new_process,
    action_is_left_alone,
    hold_action_is_valid,
    limits_can_be_applied,
)


@dataclass(frozen=True)
class _Trace:
    reset: Reset
    steps: list[StepResult]


def _trace(
    subject: Subject, environment: Environment, episode: Episode, names: Sequence[str], every: int = 1
) -> _Trace:
    reset = environment.begin(episode, names)
    steps: list[StepResult] = []
    for number, action in enumerate(subject.actions(environment), start=1):
        steps.append(environment.step(action, names if number % every == 0 else ()))
        if steps[-1].terminated:
            break
    return _Trace(reset, steps)


def _until_terminated(
    environment: Environment, actions: Sequence[NDArray[Any]], names: Sequence[str]
) -> list[StepResult]:
    results: list[StepResult] = []
    for action in actions:
        results.append(environment.step(action, names))
        if results[-1].terminated:
            break
    return results


def _require_same_trace(when: str, expected: _Trace, found: _Trace) -> None:
    same = np.array_equal(expected.reset.initial_state, found.reset.initial_state)
    _require(same, f"the initial state differs {when}: it does not follow from the episode's seed alone")
    _require_same(f"the first observation {when}", expected.reset.observation, found.reset.observation)
    _require(len(expected.steps) == len(found.steps), f"the episode ends at another step {when}")
    for number, (before, after) in enumerate(zip(expected.steps, found.steps, strict=True), start=1):
        _require_same(f"step {number} {when}", before.observation, after.observation)
        outcome = (before.success, before.terminated, dict(before.metrics), before.events)
        _require(
            outcome == (after.success, after.terminated, dict(after.metrics), after.events),
            f"the result of step {number} differs {when}",
        )


def require_features(subject: Subject, observation: Observation, names: Sequence[str]) -> None:
    """Raise `AssertionError` unless an observation is `names`, each as the version declares it."""
    _require(set(observation) == set(names), f"asked for {sorted(names)}, got {sorted(observation)}")
    for feature in subject.features:
        if feature.name in observation:
            _require_declared(feature, observation[feature.name])


def _require_declared(feature: FeatureDefinition, value: FeatureValue) -> None:
    if feature.kind == "language":
        _require(isinstance(value, str), f"{feature.name} is a {type(value).__name__}, not text")
        return
    assert isinstance(value, np.ndarray), f"{feature.name} is a {type(value).__name__}, not an array"
    found = (str(value.dtype), value.shape)
    _require(found == (feature.dtype, feature.shape), f"{feature.name} is {found}")
    _require(bool(value.flags.c_contiguous), f"{feature.name} is not contiguous")


def _require_same(where: str, expected: Observation, found: Observation) -> None:
    _require(expected.keys() == found.keys(), f"{where}: features differ")
    for name, value in expected.items():
        _require(np.array_equal(value, found[name]), f"{where}: {name} differs")


def _copy(observation: Observation) -> Observation:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in observation.items()}


def _scribble(observation: Observation) -> None:
    for value in observation.values():
        if isinstance(value, np.ndarray):
            value.fill(1)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise AssertionError(problem)
