from __future__ import annotations

import numpy as np
import pytest

from proctor.testing.traces import CHUNKS, TOLD, Trace, beside

EXPECTED = [
    {"state": np.array([step, 1.0]), "frame": np.full(3, step), "success": False} for step in range(12)
]


def shown(chunk: int) -> Trace:
    """What a right lane shows: everything where a policy looks, success at every moment."""
    return [each if step % chunk == 0 else {"success": False} for step, each in enumerate(EXPECTED)]


def test_a_lane_that_shows_the_same_differs_nowhere_and_all_it_showed_is_counted() -> None:
    looks = sum(len(range(0, 12, chunk)) for chunk in CHUNKS)
    assert beside(EXPECTED, shown) == {"differing": [], "compared": 12 * len(CHUNKS) + 2 * looks}


def test_the_last_bit_of_one_value_in_one_chunk_is_a_difference() -> None:
    def wrong(chunk: int) -> Trace:
        trace = [dict(each) for each in shown(chunk)]
        if chunk == 4:
            trace[8]["state"] = np.nextafter(EXPECTED[8]["state"], np.inf)
        return trace

    assert beside(EXPECTED, wrong)["differing"] == ["state at step 8, chunk 4"]


def test_success_told_too_early_is_a_difference() -> None:
    assert beside(EXPECTED, lambda _: [{"success": step == 5} for step in range(12)])["differing"] == [
        f"success at step 5, chunk {chunk}" for chunk in CHUNKS
    ]


def test_of_many_differences_the_first_are_told() -> None:
    assert len(beside(EXPECTED, lambda _: [{"success": True}] * 12)["differing"]) == TOLD


def test_a_trace_that_ends_early_is_refused() -> None:
    with pytest.raises(ValueError, match="longer"):
        beside(EXPECTED, lambda chunk: shown(chunk)[:-1])
