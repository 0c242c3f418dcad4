from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proctor import limits
from proctor.benchmarks.definition import ActionDefinition
from proctor.errors import BenchmarkFault, InvalidActionError
from proctor.evaluation.checks import check_observation, checked_actions
from proctor.evaluation.execution import parse_execute_steps
from proctor.policy import ActionChunk
from proctor.testing.toy_versions import toy_definition

DEFINITION = toy_definition()
DECLARED = {feature.name: feature for feature in DEFINITION.features}
ACTION = DEFINITION.actions[0]
ANY = parse_execute_steps("policy<=100")


def unchecked(actions: Any) -> ActionChunk:
    """A chunk that no constructor looked at, as a careless wire might deliver it."""
    chunk = object.__new__(ActionChunk)
    object.__setattr__(chunk, "actions", actions)
    return chunk


def row(*values: float) -> np.ndarray:
    return np.array([values], np.float32)


def test_good_actions_pass_as_they_are() -> None:
    given_actions = np.array([[0.5, -1.0], [0.0, 1.0]], np.float32)
    checked = checked_actions(ActionChunk(given_actions), ACTION, ANY)
    assert [c.action.tolist() for c in checked] == given_actions.tolist()


def test_one_action_may_come_without_a_chunk_axis() -> None:
    assert len(checked_actions(ActionChunk(np.zeros(2, np.float32)), ACTION, ANY)) == 1


def test_the_rule_says_how_many_are_applied() -> None:
    chunk = ActionChunk(np.zeros((16, 2), np.float32))
    assert len(checked_actions(chunk, ACTION, parse_execute_steps("fixed:10"))) == 10


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (None, r"act\(\) returned NoneType"),
        ([[0.0, 0.0]], r"act\(\) returned list"),
        (np.zeros((1, 2), np.float32), r"act\(\) returned ndarray"),
        (unchecked([[0.0, 0.0]]), "must be a numpy array of numbers, got list"),
        (unchecked(np.zeros((1, 2), object)), "must be a numpy array of numbers, got object"),
        (unchecked(np.array([["a", "b"]])), "must be a numpy array of numbers, got <U1"),
        (unchecked(np.zeros((0, 2), np.float32)), r"shape \(n, 2\) with n from 1 to 4096, got \(0, 2\)"),
        (unchecked(np.zeros((), np.float32)), r"got \(\)"),
        (unchecked(np.zeros((1, 1, 2), np.float32)), r"got \(1, 1, 2\)"),
        (unchecked(np.zeros((1, 3), np.float32)), r"got \(1, 3\)"),
        (unchecked(np.zeros(3, np.float32)), r"got \(1, 3\)"),
        (unchecked(np.zeros((limits.MAX_CHUNK_STEPS + 1, 2), np.float32)), r"got \(4097, 2\)"),
        (unchecked(np.zeros((1, 2), np.float64)), r"has dtype float32, got float64; return .*float32"),
        (unchecked(np.zeros((1, 2), np.int64)), "has dtype float32, got int64"),
        (unchecked(np.zeros((1, 2), ">f4")), "has dtype float32, got >f4"),
        (unchecked(row(0.0, np.nan)), "value 1 of action 0 is nan; every value must be finite"),
        (unchecked(row(-np.inf, 0.0)), "value 0 of action 0 is -inf"),
    ],
)
def test_what_may_not_reach_a_robot_is_refused(chunk: Any, message: str) -> None:
    with pytest.raises(InvalidActionError, match=message):
        checked_actions(chunk, ACTION, ANY)


def test_a_chunk_is_refused_for_what_would_not_have_been_applied_too() -> None:
    actions = np.zeros((8, 2), np.float32)
    actions[7, 0] = np.nan
    with pytest.raises(InvalidActionError, match="value 0 of action 7 is nan"):
        checked_actions(ActionChunk(actions), ACTION, parse_execute_steps("fixed:4"))


def test_limits_clip_and_count() -> None:
    (checked,) = checked_actions(ActionChunk(row(1e30, 0.5)), ACTION, ANY)
    assert (checked.action.tolist(), checked.clipped, checked.out_of_limits) == ([1.0, 0.5], 1, 1)


@given(
    arrays.arrays(
        dtype=st.one_of(arrays.floating_dtypes(), arrays.integer_dtypes(), arrays.boolean_dtypes()),
        shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    )
)
def test_whatever_array_comes_only_finite_float32_pairs_within_the_limits_pass(actions: np.ndarray) -> None:
    try:
        checked = checked_actions(unchecked(actions), ACTION, ANY)
    except InvalidActionError:
        return
    for action, _, _ in checked:
        assert action.dtype == np.float32
        assert action.shape == (2,)
        assert np.all(np.abs(action) <= 1.0)


def test_reject_refuses_an_action_outside_its_limits() -> None:
    strict = ActionDefinition(
        representation="toy.velocity-v1",
        dimension=2,
        dtype="float32",
        limits="reject",
        low=(-1, -1),
        high=(1, 1),
    )
    with pytest.raises(InvalidActionError, match="value 0 of the action is 2; it must be between -1 and 1"):
        checked_actions(ActionChunk(row(2.0, 0.0)), strict, ANY)


def test_an_observation_as_declared_passes() -> None:
    check_observation({"privileged.goal": np.zeros(2, np.float32)}, ["privileged.goal"], DECLARED)
    check_observation({"language.instruction": "go"}, ["language.instruction"], DECLARED)


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ({}, r"asked for \['privileged.goal'\], the environment returned \[\]"),
        (
            {"privileged.goal": np.zeros(2, np.float64)},
            r"declared as float32 \(2,\).* returned float64 \(2,\)",
        ),
        ({"privileged.goal": np.zeros(3, np.float32)}, r"returned float32 \(3,\)"),
        ({"privileged.goal": "text"}, "returned text"),
    ],
)
def test_an_observation_that_is_not_the_declared_one_is_the_benchmarks_fault(
    observation: dict[str, Any], message: str
) -> None:
    with pytest.raises(BenchmarkFault, match=message):
        check_observation(observation, ["privileged.goal"], DECLARED)


def test_more_than_was_asked_for_is_a_fault_too() -> None:
    with pytest.raises(BenchmarkFault, match=r"asked for \[\]"):
        check_observation({"privileged.goal": np.zeros(2, np.float32)}, [], DECLARED)
