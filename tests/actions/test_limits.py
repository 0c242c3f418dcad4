"""The check every action passes before it reaches a simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proctor.actions import check_action
from proctor.errors import InvalidActionError


@dataclass(frozen=True)
class Definition:
    limits: Literal["clip", "reject", "pass"]
    low: tuple[float, ...] = (-1.0, -2.0, 0.0)
    high: tuple[float, ...] = (1.0, 3.14158, 1.0)
    representation: str = "test.three"
    dimension: int = 3
    dtype: str = "float32"


POLICIES: tuple[Literal["clip", "reject", "pass"], ...] = ("clip", "reject", "pass")


def action(*values: float, dtype: str = "float32") -> np.ndarray[Any, np.dtype[Any]]:
    return np.array(values, dtype=dtype)


@pytest.mark.parametrize("limits", POLICIES)
def test_an_action_within_its_limits_is_handed_on_untouched(limits: Any) -> None:
    given_action = action(0.5, -2.0, 1.0)
    checked = check_action(given_action, Definition(limits))
    assert checked.action is given_action
    assert (checked.clipped, checked.out_of_limits) == (0, 0)


@pytest.mark.parametrize("limits", POLICIES)
def test_the_float32_nearest_to_a_limit_is_inside_it(limits: Any) -> None:
    limit = np.float32(3.14158)
    assert float(limit) > 3.14158
    checked = check_action(action(0.0, float(limit), 0.0), Definition(limits))
    assert (checked.clipped, checked.out_of_limits) == (0, 0)


def test_pass_counts_and_changes_nothing() -> None:
    given_action = action(2.0, 0.0, -1.0)
    checked = check_action(given_action, Definition("pass"))
    assert checked.action is given_action
    assert (checked.clipped, checked.out_of_limits) == (0, 2)


def test_clip_changes_only_what_is_outside_and_leaves_the_original_alone() -> None:
    given_action = action(2.0, 0.25, -1.0)
    checked = check_action(given_action, Definition("clip"))
    np.testing.assert_array_equal(checked.action, action(1.0, 0.25, 0.0))
    assert checked.action.dtype == np.float32
    assert (checked.clipped, checked.out_of_limits) == (2, 2)
    np.testing.assert_array_equal(given_action, action(2.0, 0.25, -1.0))


def test_reject_names_the_first_number_outside_and_its_limits() -> None:
    with pytest.raises(InvalidActionError, match=r"test\.three: value 2 .* is 1\.5; .* between 0 and 1"):
        check_action(action(0.0, 0.0, 1.5), Definition("reject"))


@pytest.mark.parametrize("limits", POLICIES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_refused_under_every_policy(limits: Any, bad: float) -> None:
    with pytest.raises(InvalidActionError, match=r"value 1 .* finite"):
        check_action(action(5.0, bad, 0.0), Definition(limits))


def test_a_wrong_dtype_is_refused_with_the_mending_call() -> None:
    with pytest.raises(InvalidActionError, match=r"float32, got float64; return actions\.astype"):
        check_action(action(0.0, 0.0, 0.0, dtype="float64"), Definition("clip"))


def test_foreign_byte_order_is_a_wrong_dtype() -> None:
    with pytest.raises(InvalidActionError, match="got >f4"):
        check_action(action(0.0, 0.0, 0.0, dtype=">f4"), Definition("clip"))


@pytest.mark.parametrize("shape", [(2,), (4,), (1, 3), ()])
def test_a_wrong_shape_is_refused_naming_both(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidActionError, match=r"shape \(3,\), got \("):
        check_action(np.zeros(shape, np.float32), Definition("clip"))


def test_integer_actions_are_checked_alike() -> None:
    definition = Definition("clip", (0.0,), (3.0,), dimension=1, dtype="int64")
    checked = check_action(action(7, dtype="int64"), definition)
    assert checked.action.tolist() == [3]
    assert checked.clipped == 1


END_EFFECTORS = Definition("pass", (-2.0,) * 20, (2.0,) * 20, "xvla_ee_rot6d_20", 20)
FORWARD = [0.1, 0.5, 0.2, 1, 0, 0, 1, 0, 0, 0.0]


@pytest.mark.parametrize("value", [0.2, 5.0])
def test_an_action_with_meaning_passes_within_and_outside_its_limits(value: float) -> None:
    checked = check_action(action(value, *FORWARD[1:], *FORWARD), END_EFFECTORS)
    assert checked.out_of_limits == (value > 2)


@pytest.mark.parametrize("scale", [0.0, 1e-9])
def test_finite_numbers_that_stand_for_nothing_are_refused(scale: float) -> None:
    still = [0.1, 0.5, 0.2, scale, 0, 0, scale, 0, 0, 0.0]
    with pytest.raises(InvalidActionError, match="xvla_ee_rot6d_20: right arm: not a rotation"):
        check_action(action(*FORWARD, *still), END_EFFECTORS)


@given(arrays(np.float32, 3, elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_a_clipped_action_is_within_limits_and_counts_agree(values: Any) -> None:
    definition = Definition("clip")
    low, high = np.array(definition.low, np.float32), np.array(definition.high, np.float32)
    checked = check_action(values, definition)
    assert np.all(checked.action >= low)
    assert np.all(checked.action <= high)
    assert checked.clipped == np.count_nonzero(checked.action != values)
    assert checked.out_of_limits == check_action(values, Definition("pass")).out_of_limits
