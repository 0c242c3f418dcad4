"""What a definition and its episodes must agree on beyond types. Refusals name the field and the value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    FeatureDefinition,
    GripperCommand,
    GripperDefinition,
)
from proctor.errors import UnknownNameError, UsageError
from proctor.policy.spec import ARRAY_KINDS

_PREFIX_OF_KIND = {"image": "images", "state": "state", "language": "language"}


def check_definition(definition: BenchmarkDefinition) -> None:
    """Refuse a definition that contradicts itself. Raises `UsageError`."""
    _refuse_repeats("feature", (feature.name for feature in definition.features))
    _refuse_repeats("action representation", (action.representation for action in definition.actions))
    _refuse_repeats("task id", (task.id for task in definition.tasks))
    for feature in definition.features:
        _check_feature(feature)
    for action in definition.actions:
        _check_action(action)
    for gripper in definition.grippers:
        _check_gripper(gripper, definition)
    for task in definition.tasks:
        _refuse_endless(f"task {task.id}: weight", task.weight)
    _refuse_endless("control_hz", definition.control_hz)
    _refuse_endless("initial_state_tolerance", definition.initial_state_tolerance)
    _check_suites(definition)


def check_episodes(definition: BenchmarkDefinition, episodes: Sequence[Episode]) -> None:
    """Refuse episodes that the definition does not know, repeats and gaps. Raises `UsageError`."""
    known = {task.id for task in definition.tasks}
    _refuse_repeats("episode", (f"{episode.task}/{episode.index}" for episode in episodes))
    for episode in episodes:
        if episode.task not in known:
            raise UnknownNameError(f"task of episode {episode.id}", episode.task, known)
        expected = episode_id(episode.task, episode.index, 0)
        if episode.id != expected or episode.repetition != 0:
            raise UsageError(f"episode {episode.id!r}, repetition {episode.repetition}: must be {expected!r}")
        if not episode.segments:
            raise UsageError(f"episode {episode.id} has no segment")
        for segment in episode.segments:
            if segment.horizon < 1:
                raise UsageError(f"episode {episode.id}: horizon {segment.horizon} must be at least 1")
    _check_indices(known, episodes)


def episode_id(task: str, index: int, repetition: int) -> str:
    """Identity of one episode within a run."""
    return f"{task}/{index}/{repetition}"


def _refuse_repeats(what: str, names: Iterable[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise UsageError(f"{what} more than once: {', '.join(repeated)}")


def _check_feature(feature: FeatureDefinition) -> None:
    prefix = feature.name.partition(".")[0]
    if prefix == "privileged":
        if feature.required:
            raise UsageError(f"feature {feature.name}: a privileged feature cannot be required")
    elif prefix != _PREFIX_OF_KIND[feature.kind]:
        raise UsageError(f"feature {feature.name}: kind {feature.kind!r} belongs under another prefix")
    _FEATURE_CHECKS[feature.kind](feature)


def _check_image(feature: FeatureDefinition) -> None:
    shape = feature.shape or ()
    if feature.dtype != "uint8" or len(shape) != 3 or shape[2] != 3 or min(shape) < 1:
        raise UsageError(
            f"feature {feature.name}: an image is uint8 (height, width, 3), not {feature.dtype} {shape}"
        )
    if feature.orientation is None or feature.codec is None:
        raise UsageError(f"feature {feature.name}: an image states its orientation and its codec")


def _check_state(feature: FeatureDefinition) -> None:
    if feature.dtype is None or feature.shape is None or min(feature.shape, default=0) < 1:
        raise UsageError(f"feature {feature.name}: a state needs a dtype and a shape of positive sizes")
    _refuse_dtype(f"feature {feature.name}", feature.dtype)


def _check_language(feature: FeatureDefinition) -> None:
    if feature.dtype is not None or feature.shape is not None:
        raise UsageError(f"feature {feature.name}: text has neither dtype nor shape")


_FEATURE_CHECKS: dict[str, Callable[[FeatureDefinition], None]] = {
    "image": _check_image,
    "state": _check_state,
    "language": _check_language,
}


def _check_action(action: ActionDefinition) -> None:
    name = f"action {action.representation}"
    _refuse_dtype(name, action.dtype)
    for side, values in (("low", action.low), ("high", action.high)):
        if len(values) != action.dimension:
            raise UsageError(f"{name}: {side} has {len(values)} values for dimension {action.dimension}")
    for position, (low, high) in enumerate(zip(action.low, action.high, strict=True)):
        if not low < high:
            raise UsageError(f"{name}: low {low} is not below high {high} at position {position}")
        _refuse_endless(f"{name}: low", low)
        _refuse_endless(f"{name}: high", high)


def _check_gripper(gripper: GripperDefinition, definition: BenchmarkDefinition) -> None:
    states = {feature.name: feature for feature in definition.features if feature.kind == "state"}
    actions = {action.representation: action for action in definition.actions}
    if gripper.feature not in states:
        raise UnknownNameError("state feature of a gripper", gripper.feature, states)
    _check_place(f"gripper {gripper.feature}", gripper, states[gripper.feature].shape or ())
    for name, command in gripper.commands.items():
        if name not in actions:
            raise UnknownNameError(f"action of gripper {gripper.feature}", name, actions)
        _check_place(f"gripper {gripper.feature}, action {name}", command, (actions[name].dimension,))


def _check_place(where: str, value: GripperDefinition | GripperCommand, shape: tuple[int, ...]) -> None:
    if len(shape) != 1 or value.index >= shape[0]:
        raise UsageError(f"{where}: index {value.index} is no position in shape {shape}")
    _refuse_endless(f"{where}: open", value.open)
    _refuse_endless(f"{where}: closed", value.closed)
    if value.open == value.closed:
        raise UsageError(f"{where}: open and closed are both {value.open}")


def _refuse_endless(what: str, value: float) -> None:
    if not math.isfinite(value):
        raise UsageError(f"{what} {value} is not finite")


def _refuse_dtype(where: str, dtype: str) -> None:
    try:
        numeric = np.dtype(dtype).kind in ARRAY_KINDS
    except TypeError:
        numeric = False
    if not numeric:
        raise UsageError(f"{where}: dtype {dtype!r} is not a boolean, integer or floating one")


def _check_suites(definition: BenchmarkDefinition) -> None:
    known = [task.id for task in definition.tasks]
    if not definition.suites:
        raise UsageError("suites: at least one is needed, and the first holds every task")
    for suite, members in definition.suites.items():
        _refuse_repeats(f"suite {suite}: task", members)
        for member in members:
            if member not in known:
                raise UnknownNameError(f"task in suite {suite}", member, known)
    first, members = next(iter(definition.suites.items()))
    missing = sorted(set(known) - set(members))
    if missing:
        raise UsageError(f"suite {first} is the first and so holds every task; it lacks {', '.join(missing)}")


def _check_indices(known: set[str], episodes: Sequence[Episode]) -> None:
    indices: dict[str, list[int]] = {task: [] for task in known}
    for episode in episodes:
        indices[episode.task].append(episode.index)
    for task, found in sorted(indices.items()):
        if not found:
            raise UsageError(f"task {task} has no episode")
        beyond = [index for index in found if not 0 <= index < len(found)]
        if beyond:
            raise UsageError(
                f"task {task}: episode index {beyond[0]} is out of range; its {len(found)} episodes run "
                f"from 0 to {len(found) - 1} without a gap"
            )
