from __future__ import annotations

from collections.abc import Callable

from proctor.evaluation.record import EpisodeRecord, ErrorRecord, Outcome
from proctor.results.failures import EXAMPLES, draw_examples, failure_kinds, fault_kinds
from proctor.results.run_record import AttemptFault, RunRecord

MakeRun = Callable[..., RunRecord]
MakeRecord = Callable[..., EpisodeRecord]


def test_failures_are_grouped_by_how_they_ended(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    kinds = failure_kinds(run, records)
    assert [(kind.outcome.value, kind.reason, kind.count) for kind in kinds] == [
        ("failure", "horizon", 3),
        ("policy_error", "policy_act: InvalidActionError", 1),
    ]
    assert [kind.message for kind in kinds] == ["", "NaN"]


def test_successes_alone_make_no_kind(run: RunRecord, make_record: MakeRecord) -> None:
    assert failure_kinds(run, [make_record()]) == ()


def test_faults_are_grouped_by_cause_and_releases_left_out(make_run: MakeRun) -> None:
    crash = ErrorRecord(phase="step", type="SIGSEGV", message="worker died")
    faults = [
        AttemptFault(item=item, attempt=1, outcome=Outcome.INFRASTRUCTURE_ERROR, error=crash)
        for item in range(2)
    ]
    faults.append(AttemptFault(item=0, attempt=1, outcome=Outcome.INFRASTRUCTURE_ERROR, error=crash))
    release = AttemptFault(item=3, attempt=1, outcome=Outcome.CANCELLED)
    (kind,) = fault_kinds(make_run(faults=(*faults, release)))
    assert (kind.reason, kind.count, kind.message) == ("step: SIGSEGV", 2, "worker died")


def test_examples_do_not_depend_on_the_order_of_the_records(make_record: MakeRecord) -> None:
    records = [make_record("lift", index) for index in range(20)]
    assert draw_examples(1, records) == draw_examples(1, reversed(records))
    assert len(draw_examples(1, records)) == EXAMPLES


def test_another_run_seed_draws_other_examples(make_record: MakeRecord) -> None:
    records = [make_record("lift", index) for index in range(20)]
    assert draw_examples(1, records) != draw_examples(2, records)


def test_filmed_episodes_come_first(make_record: MakeRecord) -> None:
    records = [make_record("lift", index) for index in range(20)]
    filmed = make_record("lift", 20, video="videos/lift-20.mp4")
    assert draw_examples(1, [*records, filmed])[0].video == "videos/lift-20.mp4"
