"""`proctor env`: the simulator environments benchmarks run in."""

from __future__ import annotations

import click

from proctor.launch import environment_check, environments
from proctor.launch.exit_codes import ExitCode


@click.group()
def group() -> None:
    """Simulator environments: build, list, check."""


@group.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def build(names: tuple[str, ...]) -> None:
    """Build environments from their hashed locks; when none is named, all but those that also need a source
    checkout or a Vulkan driver.

    An environment that is already built is left alone.
    """
    wanted = list(names) or environments.complete_names()
    for name in wanted:
        environments.find(name)
    environments.build_all(wanted, lambda message: click.echo(message, err=True))


@group.command(name="list")
def list_() -> None:
    """List every environment, whether it is built, and where."""
    for name in environments.names():
        definition = environments.find(name)
        state = "built" if environments.is_built(definition) else "not built"
        click.echo(f"{name:<12} {state:<10} {definition.title}  {environments.location(definition)}")


@group.command()
@click.argument("name")
def check(name: str) -> int:
    """Look an environment over: packages as locked, and one frame rendered."""
    findings = environment_check.check(name)
    for finding in findings:
        click.echo(f"{'ok  ' if finding.ok else 'FAIL'} {finding.what}: {finding.detail}")
        if finding.remedy:
            click.echo(f"     mend it with: {finding.remedy}")
    return ExitCode.COMPLETE if all(finding.ok for finding in findings) else ExitCode.ENVIRONMENT
