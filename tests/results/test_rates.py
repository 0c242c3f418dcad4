from __future__ import annotations

from collections.abc import Callable

import pytest

from proctor.evaluation.record import EpisodeRecord
from proctor.results.rates import rate_over_completed, rate_over_planned, succeeded_by
from proctor.results.run_record import PlannedTask, RunRecord
from proctor.results.statistics import wilson

MakeRecord = Callable[..., EpisodeRecord]
LIFT = PlannedTask(id="lift", horizon=100)
STACK = PlannedTask(id="stack", horizon=100, weight=3.0)


def outcomes(make_record: MakeRecord, task: str, pattern: str) -> list[EpisodeRecord]:
    names = {"+": "success", "-": "failure", "!": "policy_error"}
    return [make_record(task, index, names[letter]) for index, letter in enumerate(pattern)]


def test_one_task_is_a_wilson_interval(make_record: MakeRecord) -> None:
    rate = rate_over_completed([LIFT], outcomes(make_record, "lift", "+++++++---"))
    assert rate is not None
    assert (rate.successes, rate.trials, rate.value, rate.method) == (7, 10, 0.7, "wilson")
    assert rate.interval == wilson(7, 10)
    assert rate.such_tasks is None


def test_several_tasks_are_a_weighted_mean_with_a_stratified_interval(make_record: MakeRecord) -> None:
    records = outcomes(make_record, "lift", "++++") + outcomes(make_record, "stack", "+---")
    rate = rate_over_completed([LIFT, STACK], records)
    assert rate is not None
    assert rate.value == pytest.approx((1.0 + 3 * 0.25) / 4)
    assert (rate.successes, rate.trials, rate.tasks) == (5, 8, 2)
    assert rate.method == "stratified-wilson"


def test_a_policy_error_is_in_the_denominator(make_record: MakeRecord) -> None:
    rate = rate_over_completed([LIFT], outcomes(make_record, "lift", "+!"))
    assert rate is not None
    assert (rate.successes, rate.trials) == (1, 2)


def test_without_records_there_is_no_rate(run: RunRecord) -> None:
    assert rate_over_completed(run.tasks, []) is None
    assert rate_over_planned(run.tasks, [], run.planned) is None


def test_a_task_without_records_has_no_part_in_the_rate_over_completed(make_record: MakeRecord) -> None:
    rate = rate_over_completed([LIFT, STACK], outcomes(make_record, "lift", "++"))
    assert rate is not None
    assert (rate.value, rate.tasks) == (1.0, 1)


def test_over_planned_counts_missing_episodes_as_not_succeeded(
    run: RunRecord, make_record: MakeRecord
) -> None:
    rate = rate_over_planned(run.tasks, outcomes(make_record, "lift", "++++"), run.planned)
    assert rate is not None
    assert (rate.successes, rate.trials, rate.tasks) == (4, 10, 2)
    assert rate.value == pytest.approx(0.4)


def test_repetitions_of_one_start_do_not_narrow_the_interval(make_record: MakeRecord) -> None:
    once = [make_record("lift", index, "success" if index else "failure") for index in range(10)]
    thrice = [
        make_record("lift", index, "success" if index else "failure", repetition=repetition)
        for index in range(10)
        for repetition in range(3)
    ]
    rate = rate_over_completed([LIFT], thrice)
    assert rate is not None
    assert (rate.successes, rate.trials, rate.starts) == (27, 30, 10)
    assert rate.interval.low == pytest.approx(wilson(9, 10).low)
    assert rate_over_completed([LIFT], once).interval.width == pytest.approx(rate.interval.width)


def test_the_three_meanings_are_counted_apart(make_record: MakeRecord) -> None:
    record = make_record("lift", 0, "success", success_at_end=False, success_held=False)
    assert succeeded_by("once")(record)
    assert not succeeded_by("at_end")(record)
    assert not succeeded_by("held")(record)


def test_an_episode_that_ended_by_a_policy_error_succeeded_in_no_meaning(make_record: MakeRecord) -> None:
    record = make_record("lift", 0, "policy_error", success_once=True)
    assert not succeeded_by("once")(record)
