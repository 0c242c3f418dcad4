from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import pytest

from proctor.evaluation.record import EpisodeRecord, ErrorRecord, Outcome
from proctor.results.run_record import PlannedTask, RunRecord, Selection
from proctor.results.summary import summarize

MakeRun = Callable[..., RunRecord]
MakeRecord = Callable[..., EpisodeRecord]
replace = msgspec.structs.replace


def test_a_complete_run_has_the_rate_over_completed_as_headline(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    summary = summarize(run, records)
    assert summary.headline is not None
    assert summary.headline == summary.over_completed == summary.over_planned
    assert summary.headline.value == pytest.approx((0.8 + 0.4) / 2)
    assert summary.no_headline == ()
    assert summary.labels == ()


def test_one_missing_episode_takes_the_headline_away(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    summary = summarize(run, records[1:])
    assert summary.headline is None
    assert summary.no_headline == ("1 of 10 planned episodes have no result",)
    assert summary.labels == ("partial",)
    assert summary.over_completed is not None
    assert summary.over_planned is not None
    assert (summary.over_completed.trials, summary.over_planned.trials) == (9, 10)


def test_nothing_completed_has_no_rate_at_all(run: RunRecord) -> None:
    summary = summarize(run, [])
    assert (summary.headline, summary.over_completed, summary.over_planned) == (None, None, None)
    assert summary.no_headline == ("none of 10 planned episodes has a result",)
    assert all(task.rate is None for task in summary.tasks)
    assert summary.meanings.once is None


def test_order_of_the_records_does_not_matter(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    shuffled = random.Random(3).sample(records, len(records))
    assert summarize(run, shuffled) == summarize(run, records)


def test_each_task_has_its_own_row(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    lift, stack = summarize(run, records[1:]).tasks
    assert (lift.task, lift.planned, lift.completed, lift.policy_errors) == ("lift", 5, 4, 0)
    assert (stack.task, stack.planned, stack.completed, stack.policy_errors) == ("stack", 5, 5, 1)
    assert stack.rate is not None
    assert (stack.rate.successes, stack.rate.trials) == (2, 5)
    assert stack.median_success_step == 40


def test_steps_to_success_are_those_of_the_successes(run: RunRecord, make_record: MakeRecord) -> None:
    records = [
        make_record("lift", 0, first_success_step=10),
        make_record("lift", 1, first_success_step=20),
        make_record("lift", 2, "failure"),
    ]
    lift, stack = summarize(run, records).tasks
    assert lift.median_success_step == 15
    assert stack.median_success_step is None


def test_axes_gather_the_tasks_that_name_them(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    tasks = (
        PlannedTask(id="lift", horizon=100, axes=("camera", "light")),
        PlannedTask(id="stack", horizon=100, axes=("light",)),
    )
    camera, light = summarize(replace(run, tasks=tasks), records).axes
    assert camera.rate is not None
    assert light.rate is not None
    assert (camera.axis, camera.rate.successes, camera.rate.trials) == ("camera", 4, 5)
    assert (light.axis, light.rate.successes, light.rate.trials) == ("light", 6, 10)


def test_such_tasks_are_spoken_of_from_five_tasks_on(make_run: MakeRun, make_record: MakeRecord) -> None:
    def such_tasks(count: int) -> bool:
        run = make_run(tasks=count, episodes=2)
        records = [
            make_record(episode.task, episode.index, "success" if episode.index else "failure")
            for episode in run.planned
        ]
        records[0] = make_record("lift", 0, "success")
        headline = summarize(run, records).headline
        assert headline is not None
        return headline.such_tasks is not None

    assert [such_tasks(count) for count in (4, 5)] == [False, True]


def test_meanings_are_counted_apart(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    records = tuple(replace(record, success_held=False) for record in records)
    to_the_end = replace(run, benchmark=replace(run.benchmark, stop_on_success=False))
    meanings = summarize(to_the_end, records).meanings
    assert meanings.once is not None
    assert meanings.held is not None
    assert (meanings.once.successes, meanings.held.successes) == (6, 0)


@pytest.mark.parametrize(
    ("success", "held_steps", "unmeasured"),
    [
        ("once", 5, ("at_end", "held")),
        ("once", 1, ("at_end",)),
        ("held", 5, ("at_end",)),
        ("at_end", 5, ()),
    ],
)
def test_what_an_episode_that_stops_at_its_success_cannot_show_has_no_rate(
    run: RunRecord,
    records: tuple[EpisodeRecord, ...],
    success: str,
    held_steps: int,
    unmeasured: tuple[str, ...],
) -> None:
    benchmark = replace(run.benchmark, success=success, held_steps=held_steps, stop_on_success=True)
    meanings = summarize(replace(run, benchmark=benchmark), records).meanings
    assert tuple(name for name in ("once", "at_end", "held") if getattr(meanings, name) is None) == unmeasured


@pytest.mark.parametrize(
    ("label", "change"),
    [
        (
            "policy unverified",
            lambda run: replace(run, policy=replace(run.policy, file_sha256=None, verified=False)),
        ),
        ("draft", lambda run: replace(run, benchmark=replace(run.benchmark, status="draft"))),
        (
            "overridden",
            lambda run: replace(run, settings=replace(run.settings, overridden=("execute_steps",))),
        ),
        (
            "privileged",
            lambda run: replace(run, settings=replace(run.settings, observe=("privileged.poses",))),
        ),
        ("subset", lambda run: replace(run, selection=Selection(suite="all", tasks=("lift",)))),
        ("subset", lambda run: replace(run, selection=Selection(suite="all", episodes=5))),
        (
            "batch-sensitive",
            lambda run: replace(run, replicas=(replace(run.replicas[0], batching="accepted"),)),
        ),
    ],
)
def test_labels(
    run: RunRecord,
    records: tuple[EpisodeRecord, ...],
    label: str,
    change: Callable[[RunRecord], RunRecord],
) -> None:
    summary = summarize(change(run), records)
    assert summary.labels == (label,)
    assert summary.headline is not None


def test_a_privileged_feature_in_any_record_is_told(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    told = replace(records[3], privileged_features=("privileged.poses",))
    summary = summarize(run, (*records[:3], told, *records[4:]))
    assert summary.privileged_features == ("privileged.poses",)
    assert summary.labels == ("privileged",)


def test_actions_events_metrics_and_deviations_are_gathered(run: RunRecord, make_record: MakeRecord) -> None:
    records = [
        make_record(
            "lift",
            0,
            actions_clipped=3,
            actions_out_of_limits=4,
            events={"clipped": 3},
            metrics={"progress": 0.5},
            initial_state_deviation=1e-9,
        ),
        make_record("lift", 1, events={"clipped": 2}, metrics={"progress": 1.0}),
    ]
    summary = summarize(run, records)
    assert (summary.actions.applied, summary.actions.clipped, summary.actions.out_of_limits) == (80, 3, 4)
    assert summary.events == {"clipped": 5}
    assert summary.metrics["progress"].median == 0.75
    assert summary.initial_state_deviation == 1e-9


def test_missed_deadlines_are_counted(run: RunRecord, make_record: MakeRecord) -> None:
    late = ErrorRecord(phase="policy_act", type="DeadlineError", message="60 s")
    records = [make_record("lift", 0, "policy_error", error=late), make_record("lift", 1, "policy_error")]
    assert summarize(run, records).missed_deadlines == 1


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_is_either_counted_or_refused(
    run: RunRecord, make_record: MakeRecord, outcome: Outcome
) -> None:
    from proctor.errors import InfrastructureFault

    record = make_record("lift", 0, outcome.value)
    try:
        ledger = summarize(run, [record]).ledger
    except InfrastructureFault:
        assert outcome in {Outcome.BENCHMARK_ERROR, Outcome.INFRASTRUCTURE_ERROR, Outcome.CANCELLED}
    else:
        assert getattr(ledger, outcome.value) == 1
