"""What is checked between the policy and the simulator, in both directions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from proctor import limits
from proctor.actions.limits import CheckedAction, check_action
from proctor.benchmarks.definition import ActionDefinition, FeatureDefinition
from proctor.errors import BenchmarkFault, InvalidActionError
from proctor.evaluation.execution import ExecutionRule
from proctor.policy import ActionChunk, FeatureValue
from proctor.policy.spec import ARRAY_KINDS


def checked_actions(
    chunk: object, definition: ActionDefinition, rule: ExecutionRule
) -> tuple[CheckedAction, ...]:
    """The actions of `chunk` that will be applied, every one fit for a robot.

    A wrong type, dtype, shape or length and a value that is not finite refuse the chunk whole, also for what
    would not have been applied. Limits hold for what is applied.

    Raises `InvalidActionError`.
    """
    if not isinstance(chunk, ActionChunk):
        raise InvalidActionError(f"act() returned {type(chunk).__name__}; return an ActionChunk")
    actions = _as_rows(chunk.actions, definition)
    if not np.isfinite(actions).all():
        row, column = np.argwhere(~np.isfinite(actions))[0]
        raise InvalidActionError(
            f"{definition.representation}: value {column} of action {row} is {actions[row, column]}; "
            "every value must be finite"
        )
    count = rule.applied(len(actions))
    return tuple(check_action(action, definition) for action in actions[:count])


def _as_rows(actions: object, definition: ActionDefinition) -> NDArray[np.generic]:
    if not isinstance(actions, np.ndarray) or actions.dtype.kind not in ARRAY_KINDS:
        kind = actions.dtype if isinstance(actions, np.ndarray) else type(actions).__name__
        raise InvalidActionError(f"actions must be a numpy array of numbers, got {kind}")
    if actions.ndim == 1:
        actions = actions.reshape(1, -1)
    shape = actions.shape
    if actions.ndim != 2 or not 1 <= shape[0] <= limits.MAX_CHUNK_STEPS or shape[1] != definition.dimension:
        raise InvalidActionError(
            f"{definition.representation}: actions have shape (n, {definition.dimension}) with n from 1 to "
            f"{limits.MAX_CHUNK_STEPS}, got {shape}"
        )
    return np.ascontiguousarray(actions)


def check_observation(
    observation: Mapping[str, FeatureValue],
    asked: Collection[str],
    declared: Mapping[str, FeatureDefinition],
) -> None:
    """Raise `BenchmarkFault` unless `observation` holds what was asked for, as the benchmark declares it."""
    if observation.keys() != set(asked):
        raise BenchmarkFault(f"asked for {sorted(asked)}, the environment returned {sorted(observation)}")
    for name, value in observation.items():
        feature = declared[name]
        if isinstance(value, str):
            fits = feature.kind == "language"
        else:
            fits = value.dtype == feature.dtype and value.shape == feature.shape
        if not fits:
            got = "text" if isinstance(value, str) else f"{value.dtype} {value.shape}"
            raise BenchmarkFault(
                f"feature {name!r} is declared as {feature.dtype} {feature.shape}, "
                f"the environment returned {got}"
            )
