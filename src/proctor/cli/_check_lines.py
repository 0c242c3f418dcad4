"""What an examination found, as lines."""

from __future__ import annotations

from collections.abc import Iterable

import click

from proctor.policy.check import Check


def echo_checks(checks: Iterable[Check]) -> None:
    """One line for each check, and one more on how to mend it where it failed."""
    for check in checks:
        click.echo(f"{check.verdict:<14} {check.name}: {check.detail}")
        if check.mend:
            click.echo(f"{'':<14} mend it: {check.mend}")
