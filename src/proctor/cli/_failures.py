"""From an exception to a message and an exit status.

    0 complete   2 usage   3 partial   4 policy fault   5 environment fault   6 conformance fault   7 interrupted
"""

from __future__ import annotations

import click

from proctor import errors

USAGE, PARTIAL, POLICY, ENVIRONMENT, CONFORMANCE, INTERRUPTED = 2, 3, 4, 5, 6, 7

_STATUS: list[tuple[type[BaseException], int]] = [
    (errors.UsageError, USAGE),
    (errors.PolicyFault, POLICY),
    (errors.ProtocolError, CONFORMANCE),
    (errors.VersionChangedError, CONFORMANCE),
    (errors.BenchmarkFault, ENVIRONMENT),
    (errors.InfrastructureFault, ENVIRONMENT),
    (KeyboardInterrupt, INTERRUPTED),
    (click.Abort, INTERRUPTED),
]


def explain(error: BaseException) -> int:
    """Print one message for an expected failure and return its status; re-raise what nobody expected."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    for kind, status in _STATUS:
        if isinstance(error, kind):
            text = str(error) or "interrupted"
            click.echo(f"proctor: {text}", err=True)
            return status
    raise error
