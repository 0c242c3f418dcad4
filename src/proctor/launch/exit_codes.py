"""Exit statuses of an evaluation: one per kind of ending, so that a script can tell them apart."""

from __future__ import annotations

from enum import IntEnum

from proctor.errors import PolicyGoneError
from proctor.evaluation.record import Outcome
from proctor.results import Results


class ExitCode(IntEnum):
    """What a finished `proctor` command tells its caller."""

    COMPLETE = 0
    """Every planned episode has a result."""
    USAGE = 2
    PARTIAL = 3
    """Some planned episodes have no result."""
    POLICY = 4
    """The policy did not load, or its process dying is all that went wrong."""
    ENVIRONMENT = 5
    """Nothing could be evaluated on this machine."""
    CONFORMANCE = 6
    INTERRUPTED = 7


def exit_code(results: Results) -> ExitCode:
    """The status of a run that came to an end with these results."""
    ledger = results.summary.ledger
    if not ledger.missing:
        return ExitCode.COMPLETE
    if results.run.ended == "interrupted":
        return ExitCode.INTERRUPTED
    if _is_policys_end(results):
        return ExitCode.POLICY
    return ExitCode.PARTIAL if ledger.completed else ExitCode.ENVIRONMENT


def _is_policys_end(results: Results) -> bool:
    """Whether the policy's process ending is all that went wrong."""
    faults = [fault for fault in results.run.faults if fault.outcome is not Outcome.CANCELLED]
    known = bool(faults) or bool(results.run.policy_ends)
    return known and all(fault.error and fault.error.type == PolicyGoneError.__name__ for fault in faults)
