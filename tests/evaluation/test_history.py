from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.evaluation.execution import parse_execute_steps
from proctor.evaluation.history import ObservationHistory


def seen_at(step: int, names: frozenset[str] = frozenset({"f"})) -> dict[str, np.ndarray]:
    return {name: np.array([step]) for name in names}


def history(offsets: tuple[int, ...], rule: str = "fixed:4") -> ObservationHistory:
    return ObservationHistory(["f"], {"f": offsets}, parse_execute_steps(rule))


def needed(past: ObservationHistory, steps: range, next_inference: int, end: int = 100) -> list[int]:
    return [step for step in steps if past.needed(step, next_inference, end)]


def test_without_history_only_the_next_inference_is_observed() -> None:
    assert needed(ObservationHistory(["f"], {}, parse_execute_steps("fixed:4")), range(1, 5), 4) == [4]


def test_nothing_is_observed_for_an_inference_that_the_horizon_forbids() -> None:
    assert needed(history((-2, 0)), range(1, 5), 4, end=4) == []


def test_fixed_chunks_ask_only_for_steps_that_their_inferences_reach_back_to() -> None:
    assert needed(history((-2, 0)), range(1, 5), 4) == [2, 4]
    assert needed(history((-6, 0)), range(1, 5), 4) == [2, 4]


def test_free_chunks_keep_whatever_an_earlier_inference_could_want() -> None:
    assert needed(history((-3, 0), "policy<=4"), range(1, 5), 4) == [1, 2, 3, 4]
    assert needed(history((-1, 0), "policy<=4"), range(1, 5), 4) == [3, 4]


def test_a_feature_without_a_present_is_not_observed_for_it() -> None:
    assert needed(history((-1,)), range(1, 5), 4) == [3]


def test_the_past_before_the_first_observation_is_the_first_observation() -> None:
    past = history((-4, -1, 0))
    past.start(10, seen_at(10))
    assert np.array_equal(past.at(10)["f"], [[10], [10], [10]])


def test_a_new_start_forgets_what_was_seen_before_it() -> None:
    past = history((-1, 0))
    past.start(0, seen_at(0))
    past.add(1, seen_at(1))
    past.start(2, seen_at(2))
    assert np.array_equal(past.at(2)["f"], [[2], [2]])


def test_features_without_offsets_have_no_extra_axis_and_text_passes_as_it_is() -> None:
    past = ObservationHistory(["f", "text"], {}, parse_execute_steps("fixed:1"))
    past.start(0, {**seen_at(0), "text": "go"})
    assert past.at(0) == {"f": np.array([0]), "text": "go"}


def test_asking_for_a_past_that_was_not_observed_is_an_error_not_a_guess() -> None:
    past = history((-1, 0))
    past.start(0, seen_at(0))
    past.add(4, seen_at(4))
    with pytest.raises(KeyError):
        past.at(4)


@given(
    offsets=st.lists(st.integers(-9, 0), min_size=1, max_size=4, unique=True).map(sorted),
    rule=st.sampled_from(["fixed:1", "fixed:3", "policy<=5"]),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=12),
    first=st.integers(0, 5),
)
def test_what_is_observed_is_enough_for_every_inference(
    offsets: list[int], rule: str, lengths: list[int], first: int
) -> None:
    parsed = parse_execute_steps(rule)
    past = ObservationHistory(["f"], {"f": tuple(offsets)}, parsed)
    past.start(first, seen_at(first))
    step, end = first, first + 40
    for length in lengths:
        boundary = min(end, step + parsed.applied(max(length, 3)))
        for at in range(step + 1, boundary + 1):
            past.add(at, seen_at(at, past.needed(at, boundary, end)))
        step = boundary
        if step == end:
            break
        values = past.at(step)["f"].reshape(-1)
        assert list(values) == [max(first, step + offset) for offset in offsets]
