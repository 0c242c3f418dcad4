from __future__ import annotations

from typing import Any

import pytest

from proctor.evaluation.success import Goal
from proctor.testing.toy_versions import toy_definition


def follow(pattern: str, *, start: bool = False, **changes: Any) -> Goal:
    """A goal that holds (x) or does not (.) after each step."""
    goal = Goal(toy_definition(held_steps=3, **changes), start=0, success=start)
    for step, mark in enumerate(pattern, start=1):
        goal.update(step, mark == "x")
    return goal


@pytest.mark.parametrize(
    ("pattern", "once", "at_end", "held", "first"),
    [
        ("....", False, False, False, None),
        (".x..", True, False, False, 2),
        ("...x", True, True, False, 4),
        (".xxx", True, True, True, 2),
        ("xxx.", True, False, True, 1),
        ("xx.xx", True, True, False, 1),
    ],
)
def test_all_three_meanings_are_followed(
    pattern: str, once: bool, at_end: bool, held: bool, first: int | None
) -> None:
    goal = follow(pattern)
    assert (goal.once, goal.at_end, goal.held, goal.first_step) == (once, at_end, held, first)


def test_a_goal_that_holds_at_the_start_was_first_held_at_step_0_and_counts_no_held_step() -> None:
    goal = follow("xx", start=True)
    assert (goal.once, goal.first_step, goal.held) == (True, 0, False)


@pytest.mark.parametrize(
    ("success", "pattern", "reached"),
    [
        ("once", "x.", True),
        ("at_end", "x.", False),
        ("at_end", ".x", True),
        ("held", "xx", False),
        ("held", "xxx", True),
    ],
)
def test_the_declared_meaning_decides(success: str, pattern: str, reached: bool) -> None:
    assert follow(pattern, success=success).reached is reached


@pytest.mark.parametrize(
    ("success", "stop", "pattern", "settled"),
    [
        ("once", True, ".x", True),
        ("once", False, ".x", False),
        ("held", True, "xx", False),
        ("held", True, "xxx", True),
        ("held", False, "xxx", False),
        ("at_end", True, "xxx", False),
    ],
)
def test_it_is_settled_only_where_the_benchmark_stops(
    success: str, stop: bool, pattern: str, settled: bool
) -> None:
    assert follow(pattern, success=success, stop_on_success=stop).settled is settled
