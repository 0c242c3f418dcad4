"""The commands as `click` sees them. Nouns are imported when they are used, so that help comes at once."""

from __future__ import annotations

from importlib import import_module

import click

NOUNS = {
    "bench": "Benchmarks: list, show, copy, check, freeze, and evaluate a policy on one.",
    "data": "Data sets: fetch them by manifest, verify them, list them.",
    "env": "Simulator environments: build, list, check.",
    "run": "Runs: list, show, report and compare them.",
}
SERVE = {"serve": "Serve a policy to the clients of any dialect."}
"""Shown beside the nouns; runs without `click`, see `main`."""


class Nouns(click.Group):
    """A group whose commands are modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All nouns, without importing them."""
        return sorted(NOUNS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the noun's module and return its `group`."""
        if name not in NOUNS:
            return None
        command: click.Command = import_module(f"proctor.cli.{name}").group
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest noun when one is mistyped."""
        if args and not args[0].startswith("-") and args[0] not in NOUNS:
            from proctor.errors import UnknownNameError

            raise UnknownNameError("command", args[0], [*NOUNS, *SERVE])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the nouns from the tables above."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted({**NOUNS, **SERVE}.items()))


@click.group(cls=Nouns, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proctor", message="%(prog)s %(version)s")
def root() -> None:
    """Examine a robot policy: run it on a frozen benchmark, report a number that stays true.

    \b
    First steps:
      proctor bench list
      proctor bench eval aloha-sim-v1 --policy my_policy.py:MyPolicy --run first --quick
    """
