from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from proctor.errors import InfrastructureFault
from proctor.evaluation.record import EVALUATED, EpisodeRecord, ErrorRecord, Outcome
from proctor.results.ledger import Ledger, make_ledger, make_reruns
from proctor.results.run_record import AttemptFault, Quarantine, RunRecord

MakeRun = Callable[..., RunRecord]
MakeRecord = Callable[..., EpisodeRecord]
CRASH = ErrorRecord(phase="step", type="SIGSEGV", message="worker died")


def fault(outcome: Outcome, *episodes: str) -> AttemptFault:
    return AttemptFault(item=1, attempt=1, outcome=outcome, episodes=episodes, error=CRASH)


def test_every_outcome_has_a_column() -> None:
    assert {outcome.value for outcome in Outcome} <= set(Ledger.__struct_fields__)


def test_a_complete_run(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    ledger = make_ledger(run, records)
    assert (ledger.planned, ledger.completed, ledger.missing) == (10, 10, 0)
    assert (ledger.success, ledger.failure, ledger.policy_error) == (6, 3, 1)


def test_a_missing_episode_is_counted_under_what_stopped_it_last(
    make_run: MakeRun, records: tuple[EpisodeRecord, ...]
) -> None:
    faults = (
        fault(Outcome.INFRASTRUCTURE_ERROR, "lift/0/0", "lift/1/0", "lift/2/0"),
        fault(Outcome.BENCHMARK_ERROR, "lift/1/0"),
        fault(Outcome.CANCELLED, "lift/2/0"),
    )
    ledger = make_ledger(make_run(faults=faults), records[4:])
    assert (ledger.infrastructure_error, ledger.benchmark_error, ledger.cancelled) == (1, 1, 1)
    assert ledger.not_run == 1
    assert ledger.missing == 4


def test_an_episode_that_succeeded_after_a_fault_is_a_success(
    make_run: MakeRun, records: tuple[EpisodeRecord, ...]
) -> None:
    run = make_run(faults=(fault(Outcome.INFRASTRUCTURE_ERROR, "lift/1/0"),))
    assert make_ledger(run, records) == make_ledger(make_run(), records)


@pytest.mark.parametrize("kept", range(11))
def test_the_columns_add_up(make_run: MakeRun, records: tuple[EpisodeRecord, ...], kept: int) -> None:
    run = make_run(faults=(fault(Outcome.BENCHMARK_ERROR, "stack/4/0", "stack/3/0"),))
    ledger = make_ledger(run, records[:kept])
    assert ledger.completed == ledger.success + ledger.failure + ledger.policy_error == kept
    stopped = ledger.benchmark_error + ledger.infrastructure_error + ledger.cancelled + ledger.not_run
    assert ledger.missing == stopped == 10 - kept


def test_attempts_without_a_result_are_counted_apart(make_run: MakeRun) -> None:
    of_episode, of_attempt = (
        fault(Outcome.INFRASTRUCTURE_ERROR, "lift/0/0"),
        fault(Outcome.INFRASTRUCTURE_ERROR),
    )
    faults = (of_episode, of_attempt, msgspec.structs.replace(of_attempt, attempt=2))
    quarantined = (Quarantine(item=1, attempts=3, episodes=("lift/0/0",)),)
    reruns = make_reruns(make_run(faults=faults, quarantined=quarantined, refused_results=2))
    assert (reruns.infrastructure_error, reruns.benchmark_error, reruns.cancelled) == (2, 0, 0)
    assert (reruns.refused_results, reruns.quarantined_items) == (2, 1)


def test_a_record_twice_is_refused(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    with pytest.raises(InfrastructureFault, match="'lift/0/0' is not planned, or recorded twice"):
        make_ledger(run, (*records, records[0]))


def test_a_record_nobody_planned_is_refused(run: RunRecord, make_record: MakeRecord) -> None:
    with pytest.raises(InfrastructureFault, match="'push/0/0' is not planned"):
        make_ledger(run, [make_record("push")])


def test_a_record_with_another_seed_than_planned_is_refused(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    with pytest.raises(InfrastructureFault, match="was planned as"):
        make_ledger(run, [msgspec.structs.replace(records[0], seed=5)])


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - EVALUATED))
def test_an_error_is_no_result(run: RunRecord, records: tuple[EpisodeRecord, ...], outcome: Outcome) -> None:
    with pytest.raises(InfrastructureFault, match="is no result"):
        make_ledger(run, [msgspec.structs.replace(records[0], outcome=outcome)])
