from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from proctor import errors, limits
from proctor.evaluation.faults import error_record, outcome_of
from proctor.evaluation.record import ErrorRecord, Outcome, Phase

PHASES: tuple[Phase, ...] = get_args(Phase)
ENVIRONMENT = {"boot", "begin", "step", "teardown"}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (errors.PolicyRaisedError("x"), Outcome.POLICY_ERROR),
        (errors.InvalidActionError("x"), Outcome.POLICY_ERROR),
        (errors.DeadlineError("x"), Outcome.POLICY_ERROR),
        (errors.PolicyLoadError("x"), Outcome.POLICY_ERROR),
        (errors.ProtocolError("x"), Outcome.POLICY_ERROR),
        (errors.PolicyGoneError("x"), Outcome.INFRASTRUCTURE_ERROR),
        (errors.RequestRefusedError("x"), Outcome.INFRASTRUCTURE_ERROR),
        (errors.EnvironmentMissing("x"), Outcome.INFRASTRUCTURE_ERROR),
        (errors.LeaseLostError("x"), Outcome.INFRASTRUCTURE_ERROR),
        (errors.BenchmarkFault("x"), Outcome.BENCHMARK_ERROR),
        (MemoryError(), Outcome.INFRASTRUCTURE_ERROR),
    ],
)
def test_an_exception_that_says_whose_fault_it_is_is_believed_in_every_phase(
    error: Exception, outcome: Outcome, phase: Phase
) -> None:
    assert outcome_of(error, phase) is outcome


@pytest.mark.parametrize("phase", PHASES)
def test_any_other_exception_belongs_to_whose_code_was_running(phase: Phase) -> None:
    expected = Outcome.BENCHMARK_ERROR if phase in ENVIRONMENT else Outcome.INFRASTRUCTURE_ERROR
    assert outcome_of(ZeroDivisionError("x"), phase) is expected


def test_a_record_names_the_class_the_phase_and_the_step() -> None:
    record = error_record(errors.DeadlineError("no answer in 5 s"), "policy_act", step=3, log="logs/w.log")
    assert (record.type, record.phase, record.step, record.log) == (
        "DeadlineError",
        "policy_act",
        3,
        "logs/w.log",
    )
    assert record.message == "no answer in 5 s"


def test_a_message_is_bounded_and_never_empty() -> None:
    assert (
        len(error_record(ValueError("x" * 10**6), "step", step=0, log=None).message) == limits.MAX_ERROR_TEXT
    )
    assert error_record(ValueError(), "step", step=0, log=None).message == "(no message)"


def test_any_message_can_be_stored() -> None:
    record = error_record(FileNotFoundError("no file \udcff"), "step", step=0, log=None)
    assert msgspec.json.decode(msgspec.json.encode(record), type=ErrorRecord) == record
    assert record.message == "no file ?"
