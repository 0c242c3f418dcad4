"""Options and output of the commands that print documents of runs."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.durable import write_durably
from proctor.errors import UsageError
from proctor.results import Results
from proctor.results.documents import FORMATS, Document, Format, render

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="terminal",
    show_default=True,
    help="LaTeX needs booktabs and graphicx; CSV has the figures unrounded.",
)
output_option = click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write, in place of the terminal.",
)


def echo_document(document: Document, form: Format, output: Path | None = None) -> None:
    """Print the document, or write it to a file."""
    text = render(document, form)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_file(output, text.encode())


def write_file(path: Path, data: bytes) -> None:
    """Write a file the user named. Raises UsageError where it cannot be written."""
    try:
        write_durably(path, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def echo_paths(results: Results) -> None:
    """Where the run's files are, one line each."""
    for what, path in results.paths.items():
        click.echo(f"{what:<9} {path}")
