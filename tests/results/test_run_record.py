from __future__ import annotations

from typing import Any

import msgspec
import pytest

from proctor.evaluation.protocol import WorkerHello
from proctor.evaluation.record import EVALUATED, Outcome
from proctor.results.run_record import AttemptFault, RunRecord, platform_records


def hello(worker: str, **changes: Any) -> WorkerHello:
    fields: dict[str, Any] = {
        "worker": worker,
        "host": "h",
        "pid": 1,
        "python": "3.11",
        "platform": "x86",
        "packages": {"b": "2", "a": "1"},
        "renderer": "none",
    }
    return WorkerHello(**fields | changes)


def test_a_run_reads_back_as_written(run: RunRecord) -> None:
    assert msgspec.json.decode(msgspec.json.encode(run), type=RunRecord) == run


@pytest.mark.parametrize("field", ["tasks", "planned"])
def test_a_run_without_a_plan_is_refused(run: RunRecord, field: str) -> None:
    emptied = msgspec.to_builtins(run) | {field: []}
    with pytest.raises(msgspec.ValidationError, match="length >= 1"):
        msgspec.convert(emptied, RunRecord)


@pytest.mark.parametrize("outcome", sorted(EVALUATED))
def test_a_fault_never_has_an_evaluated_outcome(outcome: Outcome) -> None:
    with pytest.raises(ValueError, match="evaluated outcome"):
        AttemptFault(item=1, attempt=1, outcome=outcome)


def test_workers_are_grouped_by_platform() -> None:
    groups = platform_records([hello("w1"), hello("w0"), hello("w2", platform="arm")])
    assert [group.workers for group in groups] == [("w2",), ("w0", "w1")]
    assert list(groups[0].packages) == ["a", "b"]


def test_a_worker_that_went_on_elsewhere_is_in_both_groups() -> None:
    groups = platform_records([hello("w0"), hello("w0", pid=2), hello("w0", platform="arm")])
    assert [(group.platform, group.workers) for group in groups] == [("arm", ("w0",)), ("x86", ("w0",))]
