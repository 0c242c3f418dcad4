"""The last look at an action before it reaches a robot: dtype, shape, finite, limits, meaning."""

from __future__ import annotations

from operator import le
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from proctor.actions.representations import REPRESENTATIONS
from proctor.errors import InvalidActionError


class ActionLimits(Protocol):
    """What `check_action` reads of an action's definition."""

    @property
    def representation(self) -> str:
        """Name of the representation, for messages."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in one action."""
        ...

    @property
    def dtype(self) -> str:
        """Name of the numpy dtype an action must have."""
        ...

    @property
    def limits(self) -> Literal["clip", "reject", "pass"]:
        """What happens to a value outside `low` and `high`."""
        ...

    @property
    def low(self) -> tuple[float, ...]:
        """Smallest allowed value of each number."""
        ...

    @property
    def high(self) -> tuple[float, ...]:
        """Largest allowed value of each number."""
        ...


class CheckedAction(NamedTuple):
    """An action that may be applied."""

    action: NDArray[Any]
    """(dimension,) of the defined dtype; the array given, or a clipped copy of it."""
    clipped: int
    """How many numbers were changed."""
    out_of_limits: int
    """How many numbers were outside their limits, whatever happened to them."""


def check_action(action: NDArray[Any], definition: ActionLimits) -> CheckedAction:
    """Check one action, (dimension,), against its definition.

    Limits are compared in the action's own dtype, so a policy that sends the float32 nearest to a limit is
    inside it.

    Raises `InvalidActionError` for a wrong dtype or shape, a number that is not finite, where the definition
    says `reject` a number outside its limits, and for numbers that stand for nothing in a representation that
    proctor knows, such as six that are no rotation.
    """
    if action.dtype != definition.dtype:
        raise InvalidActionError(_wrong_dtype(action, definition))
    if action.shape != (definition.dimension,):
        raise InvalidActionError(
            f"{definition.representation}: an action has shape ({definition.dimension},), got {action.shape}"
        )
    checked = _check_limits(action, definition)
    representation = REPRESENTATIONS.get(definition.representation)
    if representation is not None and representation.check is not None:
        representation.check(checked.action)
    return checked


def _check_limits(action: NDArray[Any], definition: ActionLimits) -> CheckedAction:
    # Python floats beat numpy on a dozen numbers, and a NaN is inside no limits.
    values = action.tolist()
    if all(map(le, definition.low, values)) and all(map(le, values, definition.high)):
        return CheckedAction(action, 0, 0)
    return _check_unusual(action, definition)


def _check_unusual(action: NDArray[Any], definition: ActionLimits) -> CheckedAction:
    finite = np.isfinite(action)
    if not finite.all():
        index = int(np.argmin(finite))
        raise InvalidActionError(
            f"{definition.representation}: value {index} of the action is {action[index]}; "
            "every value must be finite"
        )
    low, high = (np.asarray(bound, dtype=action.dtype) for bound in (definition.low, definition.high))
    outside = (action < low) | (action > high)
    count = int(np.count_nonzero(outside))
    if count and definition.limits == "reject":
        index = int(np.argmax(outside))
        raise InvalidActionError(
            f"{definition.representation}: value {index} of the action is {action[index]:g}; "
            f"it must be between {definition.low[index]:g} and {definition.high[index]:g}"
        )
    if count and definition.limits == "clip":
        return CheckedAction(np.clip(action, low, high), count, count)
    return CheckedAction(action, 0, count)


def _wrong_dtype(action: NDArray[Any], definition: ActionLimits) -> str:
    return (
        f"{definition.representation}: an action has dtype {definition.dtype}, got {action.dtype}; "
        f"return actions.astype(numpy.{definition.dtype})"
    )
