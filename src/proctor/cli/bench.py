"""`proctor bench`: the benchmark versions, and evaluating a policy on one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final, get_args

import click

from proctor.benchmarks.references import open_version
from proctor.benchmarks.registry import find_version, hidden_by, version_ids
from proctor.benchmarks.version import DEFINITION_FILE
from proctor.cli._arguments import benchmark_python_option, runs_option
from proctor.cli._evaluation_options import evaluation_options, request_fields
from proctor.cli.bench_check import check
from proctor.cli.bench_doctor import doctor
from proctor.cli.check_policy import check_policy
from proctor.cli.check_server import check_server
from proctor.errors import UsageError, VersionChangedError
from proctor.evaluation.record import Filmed

OWN_BENCHMARK: Final = "tabletop-heldout-v1"
"""What a policy is evaluated on where no benchmark is named."""


@click.group()
def group() -> None:
    """Benchmarks: list, show, copy, check, freeze, and evaluate a policy on one."""


group.add_command(check)
group.add_command(check_policy)
group.add_command(check_server)
group.add_command(doctor)


@group.command(name="list")
def list_() -> None:
    """List every benchmark version, one line each."""
    from proctor.cli._version_page import status_of
    from proctor.results.tables import plural

    names = version_ids()
    width = max(map(len, names))
    for name in names:
        try:
            version = find_version(name)
        except VersionChangedError as error:
            click.echo(f"{name:<{width}} CHANGED {error}")
            continue
        except UsageError as error:
            click.echo(f"{name:<{width}} broken  {error}")
            continue
        definition = version.definition
        size = f"{plural(len(definition.tasks), 'task')}, {plural(len(version.episodes), 'episode')}"
        hidden = hidden_by(version)
        mark = f" (hides another, in {hidden})" if hidden else ""
        starts = "" if any(episode.initial_state for episode in version.episodes) else " (no start recorded)"
        click.echo(f"{name:<{width}} {status_of(version):<7} {size:<26} {definition.title}{starts}{mark}")


@group.command()
@click.argument("benchmark")
def show(benchmark: str) -> None:
    """Show everything about a version that moves a score."""
    from proctor.cli._version_page import describe

    click.echo(describe(open_version(benchmark)))


@group.command()
@click.argument("benchmark")
@click.option("--starts", is_flag=True, help="Also rebuild every start in the simulator and compare.")
@benchmark_python_option
def verify(benchmark: str, starts: bool, benchmark_python: str | None) -> None:
    """Recompute a version's hash, and prove that its files are the frozen ones."""
    from proctor.benchmarks.version import verify as verify_files

    version = open_version(benchmark)
    verify_files(version)
    click.echo(f"{benchmark}: {version.status} in {version.directory}, {version.hash}")
    if starts:
        from proctor.launch.starts import run_on_starts

        click.echo(run_on_starts(version, "check-states", benchmark_python))


@group.command()
@click.argument("benchmark")
@click.argument("new_id", metavar="ID")
def copy(benchmark: str, new_id: str) -> None:
    """Start a draft conf/benchmarks/ID here as a copy of another version.

    Its benchmark.toml is yours to change: cameras, frames, limits. Episodes and their starts are copied.
    """
    from proctor.benchmarks.copying import copy_version

    version = copy_version(open_version(benchmark), new_id, Path.cwd() / "conf" / "benchmarks")
    click.echo(f"{new_id}: draft in {_relative(version.directory)}; next: change its {DEFINITION_FILE}")


@group.command()
@click.argument("benchmark")
@benchmark_python_option
def freeze(benchmark: str, benchmark_python: str | None) -> None:
    """Make a draft final. From then on its files cannot change; a change is a new version.

    Starts that the draft does not record yet are derived in its simulator environment first. A file of one's
    own (.toml) becomes the directory conf/benchmarks/ID here.
    """
    from proctor.launch.starts import frozen

    version = frozen(benchmark, benchmark_python)
    click.echo(f"{version.definition.id}: frozen in {_relative(version.directory)}, {version.hash}")


@group.command()
@click.argument("benchmark")
@click.option("--suite", help="Named subset; the version's first by default.")
@click.option("--representation", help="Meaning of the actions; the version's first by default.")
def spec(benchmark: str, suite: str | None, representation: str | None) -> None:
    """Print what a policy is told about a version, as JSON: for `proctor serve` where it is not installed."""
    from proctor.benchmarks.spec import benchmark_spec

    told = benchmark_spec(open_version(benchmark).definition, suite, representation=representation)
    click.echo(json.dumps(told.to_dict(), indent=1))


@group.command(name="eval")
@click.argument("benchmark", default=OWN_BENCHMARK)
@evaluation_options
@click.option("--run", "name", help="Name of the run; benchmark and time by default.")
@click.option("--episodes", type=int, help="Episodes per task; all by default.")
@click.option("--repeat", type=int, default=1, show_default=True, help="Runs of each episode.")
@click.option("--workers", type=int, help="Simulator processes; one per core by default.")
@click.option("--replicas", type=int, default=1, show_default=True, help="Policy servers.")
@click.option(
    "--accept-batching", is_flag=True, help="Merge requests of a policy that is not batch invariant."
)
@click.option(
    "--record", type=click.Choice(get_args(Filmed)), default="none", show_default=True,
    help="Which episodes are filmed.",
)  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with a run: exactly the episodes without a result.")
@click.option("--quick", is_flag=True, help="One task, one episode, one worker: checks the plumbing.")
@click.option("--dry-run", is_flag=True, help="Print the plan with a time estimate, and start nothing.")
@runs_option
def evaluate(benchmark: str, quick: bool, dry_run: bool, **options: Any) -> int:
    """Evaluate a policy on a benchmark, tabletop-heldout-v1 unless one is named.

    BENCHMARK is an id, the directory of a version, or a file (.toml) that declares one of your own.
    Results are in runs/NAME: results.json, report.md, episodes.jsonl, logs and videos. Ctrl-C once stops
    cleanly, twice at once; --resume goes on.

    \b
    Exit status: 0 complete, 2 usage, 3 partial, 4 policy fault (every episode a policy error
    among them), 5 environment fault, 6 conformance fault, 7 interrupted.
    """
    from proctor.launch.planning import make_plan
    from proctor.launch.request import EvaluationRequest

    if quick:
        options |= _quick(benchmark, options)
    request = EvaluationRequest(
        benchmark=benchmark,
        run_directory=options.pop("root"),
        command=tuple(sys.argv),
        **request_fields(options),
    )
    if dry_run:
        click.echo(make_plan(request))
        return 0
    return _run(request)


def _quick(benchmark: str, options: dict[str, Any]) -> dict[str, Any]:
    """What --quick stands for: the first of the tasks that were asked for, once."""
    from proctor.benchmarks.selection import suite_tasks

    for option in ("episodes", "workers"):
        if options[option] not in (None, 1):
            raise UsageError(
                f"--quick is one episode and one worker; --{option} {options[option]} contradicts it"
            )
    tasks = options["tasks"] or suite_tasks(open_version(benchmark).definition, options["suite"])
    return {"tasks": tasks[:1], "episodes": 1, "workers": 1, "repeat": 1}


def _run(request: Any) -> int:
    from rich.console import Console

    from proctor.cli._progress import ProgressDisplay
    from proctor.launch.evaluation import run_evaluation
    from proctor.launch.exit_codes import exit_code
    from proctor.launch.request import Callbacks
    from proctor.results import closing_text

    with ProgressDisplay(Console(stderr=True)) as display:
        results = run_evaluation(request, Callbacks(say=display.say, progress=display.update))
    click.echo(f"\n{results}\n")
    for what, path in results.paths.items():
        click.echo(f"{what:<9} {_relative(path)}")
    videos = sorted((results.directory / "videos").glob("**/*.mp4"))
    if videos:
        click.echo(f"videos    {_relative(results.directory / 'videos')} ({len(videos)})")
    click.echo(f"\n{closing_text(results)}")
    return exit_code(results)


def _relative(path: Path | None) -> Path:
    assert path is not None
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
