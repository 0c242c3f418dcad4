"""`proctor bench doctor`: is this policy ready for this benchmark, before hours are spent?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from proctor.cli._evaluation_options import evaluation_options, request_fields


@click.command(name="doctor")
@click.argument("benchmark", metavar="BENCHMARK")
@evaluation_options
@click.option(
    "--steps", type=int, default=100, show_default=True, help="Control steps of each task's first episode."
)
@click.option(
    "--sheet", type=click.Path(path_type=Path), metavar="FILE.png",
    help="Draw the first frames of every camera, as the policy sees them.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(benchmark: str, steps: int, sheet: Path | None, as_json: bool, **options: Any) -> int:
    """Rehearse a policy on a benchmark, and report what is wrong with the pair.

    BENCHMARK is as for eval. The first episodes of three tasks (--tasks names others) are run as eval runs
    them, cut after --steps. No result is kept.

    \b
    Exit status: 0 nothing is wrong, 2 usage, 5 environment fault, 6 a check failed, 7 interrupted.
    """
    from proctor.cli._check_lines import echo_checks
    from proctor.launch.doctor import examine_pair
    from proctor.launch.request import EvaluationRequest

    request = EvaluationRequest(benchmark=benchmark, command=tuple(sys.argv), **request_fields(options))
    report, status = examine_pair(
        request, steps=steps, sheet=sheet, say=lambda text: click.echo(text, err=True)
    )
    if as_json:
        click.echo(json.dumps(report.to_dict(), indent=1))
        return status
    echo_checks(report.checks)
    if sheet is not None and report.sheet is None:
        click.echo(f"sheet: {sheet} is not drawn: the policy was sent no image")
    if report.logs:
        click.echo(f"logs: {report.logs}")
    click.echo(report.verdict)
    return status
