"""Choosing the episodes of a run."""

from __future__ import annotations

import pytest

from proctor.benchmarks.selection import default_suite, select, suite_tasks
from proctor.errors import UnknownNameError, UsageError
from proctor.testing.toy_versions import toy_version

VERSION = toy_version(("reach", "park", "cliff"), episodes=3)


def ids(**choice: object) -> list[str]:
    return [episode.id for episode in select(VERSION, **choice)]  # type: ignore[arg-type]


def test_everything_by_default_in_order() -> None:
    assert ids() == [f"{task}/{index}/0" for task in ("reach", "park", "cliff") for index in range(3)]


def test_the_first_episodes_of_every_task() -> None:
    assert ids(episodes=1) == ["reach/0/0", "park/0/0", "cliff/0/0"]


def test_a_suite_is_a_subset() -> None:
    assert ids(suite="first", episodes=1) == ["reach/0/0"]


def test_tasks_keep_the_order_of_the_definition() -> None:
    assert ids(tasks=["cliff", "reach"], episodes=1) == ["reach/0/0", "cliff/0/0"]


def test_a_task_named_twice_runs_once() -> None:
    assert ids(tasks=["park", "park"], episodes=1) == ["park/0/0"]


def test_repetitions_are_episodes_of_their_own() -> None:
    assert ids(tasks=["park"], episodes=2, repeat=2) == ["park/0/0", "park/0/1", "park/1/0", "park/1/1"]


def test_a_repetition_keeps_seed_start_and_segments() -> None:
    first, second = select(VERSION, tasks=["park"], episodes=1, repeat=2)
    assert (first.repetition, second.repetition) == (0, 1)
    assert (first.seed, first.initial_state, first.segments) == (
        second.seed,
        second.initial_state,
        second.segments,
    )


def test_ids_are_unique() -> None:
    chosen = ids(repeat=3)
    assert len(set(chosen)) == len(chosen) == 27


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"suite": "al"}, "unknown suite 'al'; did you mean 'all'"),
        ({"tasks": ["raech"]}, "unknown task 'raech'; did you mean 'reach'"),
        ({"suite": "first", "tasks": ["paark"]}, "unknown task 'paark'. Valid: reach"),
    ],
)
def test_an_unknown_name_is_refused(choice: dict[str, object], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        ids(**choice)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"episodes": 0}, "episodes 0: must be at least 1"),
        ({"episodes": -1}, "episodes -1: must be at least 1"),
        ({"episodes": 4}, "episodes 4: task reach has 3; use repeat"),
        ({"repeat": 0}, "repeat 0: must be at least 1"),
        ({"tasks": []}, "tasks: none was named"),
        ({"suite": "first", "tasks": ["park"]}, "task 'park' is not in suite 'first'; suites with it: all$"),
    ],
)
def test_a_choice_of_nothing_or_too_much_is_refused(choice: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ids(**choice)


def test_the_first_suite_is_the_default() -> None:
    assert default_suite(VERSION.definition) == "all"
    assert suite_tasks(VERSION.definition, None) == ("reach", "park", "cliff")
