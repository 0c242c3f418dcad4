"""Whose fault an exception is. The one table from (phase, exception) to outcome.

What proctor's own exceptions say about themselves comes first: the first row whose class fits decides.
Anything else is the fault of whoever's code was running in that phase.

    PolicyGoneError       infrastructure_error   a policy process died; it is rebuilt, the episode re-run
    PolicyFault           policy_error           raised, invalid action, deadline missed
    RequestRefusedError   infrastructure_error   the server refused what proctor asked: ours to mend
    ProtocolError         policy_error           the policy's server answered with something that is no answer
    BenchmarkFault        benchmark_error
    InfrastructureFault   infrastructure_error
    MemoryError           infrastructure_error   the machine, whoever's code asked for the memory
"""

from __future__ import annotations

from typing import Final

from proctor.errors import (
    BenchmarkFault,
    InfrastructureFault,
    PolicyFault,
    PolicyGoneError,
    ProtocolError,
    RequestRefusedError,
    text_of,
)
from proctor.evaluation.record import ErrorRecord, Outcome, Phase

_BY_CLASS: Final[tuple[tuple[type[Exception], Outcome], ...]] = (
    (PolicyGoneError, Outcome.INFRASTRUCTURE_ERROR),
    (PolicyFault, Outcome.POLICY_ERROR),
    (RequestRefusedError, Outcome.INFRASTRUCTURE_ERROR),
    (ProtocolError, Outcome.POLICY_ERROR),
    (BenchmarkFault, Outcome.BENCHMARK_ERROR),
    (InfrastructureFault, Outcome.INFRASTRUCTURE_ERROR),
    (MemoryError, Outcome.INFRASTRUCTURE_ERROR),
)

_BY_PHASE: Final[dict[Phase, Outcome]] = {
    "boot": Outcome.BENCHMARK_ERROR,
    "begin": Outcome.BENCHMARK_ERROR,
    "policy_reset": Outcome.INFRASTRUCTURE_ERROR,
    "policy_act": Outcome.INFRASTRUCTURE_ERROR,
    "check_action": Outcome.INFRASTRUCTURE_ERROR,
    "step": Outcome.BENCHMARK_ERROR,
    "record": Outcome.INFRASTRUCTURE_ERROR,
    "teardown": Outcome.BENCHMARK_ERROR,
}


def outcome_of(error: Exception, phase: Phase) -> Outcome:
    """The outcome of an episode that `error` ended while it was in `phase`."""
    return next((outcome for kind, outcome in _BY_CLASS if isinstance(error, kind)), _BY_PHASE[phase])


def error_record(error: Exception, phase: Phase, *, step: int | None, log: str | None) -> ErrorRecord:
    """What is kept of an exception; the log named has the traceback."""
    return ErrorRecord(phase=phase, type=type(error).__name__, message=text_of(error), step=step, log=log)
