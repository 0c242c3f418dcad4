"""From a request to everything that is known before a process starts, and how long it may take."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Final

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.benchmarks.references import open_version
from proctor.benchmarks.selection import default_suite, select
from proctor.benchmarks.version import BenchmarkVersion, verify
from proctor.errors import UsageError
from proctor.evaluation.execution import parse_execute_steps
from proctor.evaluation.record import EpisodeRecord
from proctor.launch import environments
from proctor.launch.own import own_interpreter
from proctor.launch.policies import CommandPolicy, HeldPolicy, PolicySource, RunningPolicy, policy_source
from proctor.launch.preflight import check_checkpoint, check_policy_source, check_writable
from proctor.launch.request import EvaluationRequest
from proctor.launch.request_checks import check_request
from proctor.launch.workplace import check_run
from proctor.limits import MAX_RUN_NAME
from proctor.results import list_runs, read_episodes
from proctor.wire.access import read_token
from proctor.wire.dialect import Access
from proctor.wire.dialects import find_dialect
from proctor.wire.mapping import Mapping
from proctor.wire.mapping_files import find_mapping

ASSUMED_STEP_S: Final = 0.02
"""Seconds of one control step with its share of rendering, where no earlier run tells: a CPU-rendered arm."""
ASSUMED_START_S: Final = 5.0
"""Seconds until the first episode begins: processes, imports, first scene."""


@dataclass(frozen=True)
class EvaluationPlan:
    """One run, decided. `str()` is what `--dry-run` prints."""

    request: EvaluationRequest
    name: str
    directory: Path
    """Of the run."""
    version: BenchmarkVersion
    suite: str
    episodes: tuple[Episode, ...]
    execute_steps: str
    workers: int
    source: PolicySource
    mapping: Mapping | None = None
    """The terms of a running server, as far as the user named them."""
    access: Access = field(default_factory=Access)
    rehearsal_steps: int | None = None
    """Run so many control steps of each episode alone: what comes out is no result, see `doctor`."""

    @property
    def definition(self) -> BenchmarkDefinition:
        """Of the benchmark version."""
        return self.version.definition

    @property
    def overridden(self) -> tuple[str, ...]:
        """Settings of the benchmark that the user replaced."""
        return ("execute_steps",) if self.execute_steps != self.definition.execute_steps else ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Ids of the planned tasks, in order."""
        return tuple(dict.fromkeys(episode.task for episode in self.episodes))

    def __str__(self) -> str:
        environment = self.definition.environment
        own = own_interpreter(self.definition, self.request.benchmark_python)
        built = (
            own or environment == environments.HOST or environments.is_built(environments.find(environment))
        )
        lines = {
            "run": f"{self.name} in {self.directory}",
            "benchmark": f"{self.definition.id} ({self.version.status}, {self.version.hash[:12]})",
            "policy": str(self.request.policy) + (f", mapping {self.mapping.name}" if self.mapping else ""),
            "episodes": f"{len(self.episodes)} of {len(self.tasks)} tasks: {', '.join(self.tasks)}",
            "workers": f"{self.workers}, {self.request.replicas} policy server(s)",
            "environment": f"{own or environment}{'' if built else ' (would be built first)'}",
            "execute_steps": self.execute_steps + (" (overridden)" if self.overridden else ""),
            "time": str(estimate(self)),
        }
        return "\n".join(f"{name:<14} {text}" for name, text in lines.items())


@dataclass(frozen=True)
class Estimate:
    """How long a run may take."""

    seconds: float
    basis: str

    def __str__(self) -> str:
        minutes, seconds = divmod(round(self.seconds), 60)
        return f"about {minutes} min {seconds:02d} s ({self.basis})"


def make_plan(request: EvaluationRequest) -> EvaluationPlan:
    """Resolve every name and number of a request. Starts nothing, imports no policy and writes nothing.

    Raises UsageError (UnknownNameError with the nearest name) for what the user can mend, VersionChangedError
    for a frozen version whose files changed, EnvironmentMissing for a policy's environment that is not built,
    PolicyLoadError for a policy's file that is not Python.
    """
    check_request(request)
    version = open_version(request.benchmark)
    verify(version)
    own = own_interpreter(version.definition, request.benchmark_python)
    if own is None and version.definition.environment != environments.HOST:
        environments.find(version.definition.environment)
    episodes = select(
        version, suite=request.suite, tasks=request.tasks, episodes=request.episodes, repeat=request.repeat
    )
    execute_steps = request.execute_steps or version.definition.execute_steps
    parse_execute_steps(execute_steps)
    name = _run_name(request, version.definition.id)
    source = policy_source(request.policy, request.policy_args, request.policy_python)
    _refuse_wire_options(request, source)
    _refuse_replicas(request, source)
    check_policy_source(source)
    check_checkpoint(request.checkpoint, source)
    directory = Path(request.run_directory).resolve() / name
    check_run(directory, resume=request.resume)
    check_writable(directory)
    return EvaluationPlan(
        request=request,
        name=name,
        directory=directory,
        version=version,
        suite=request.suite or default_suite(version.definition),
        episodes=episodes,
        execute_steps=execute_steps,
        workers=_workers(request, _work_items(episodes, version.definition.window)),
        source=source,
        mapping=None if request.mapping is None else find_mapping(request.mapping),
        access=Access(
            token=None if request.token_file is None else read_token(request.token_file),
            ca_file=None if request.ca_file is None else str(request.ca_file),
        ),
    )


def _refuse_wire_options(request: EvaluationRequest, source: PolicySource) -> None:
    """Only a server of somebody else's can speak another dialect; only one that runs asks for a token."""
    if request.dialect is not None:
        find_dialect(request.dialect)
    if isinstance(source, RunningPolicy):
        return
    for option in ("dialect", "mapping", "token_file", "ca_file"):
        if getattr(request, option) is not None and (option, type(source)) != ("dialect", CommandPolicy):
            raise UsageError(f"{option}: only the address of a running server takes one")


def _refuse_replicas(request: EvaluationRequest, source: PolicySource) -> None:
    """What is there once cannot be served twice: an object would run on two threads, a server load twice."""
    if request.replicas > 1 and isinstance(source, HeldPolicy | RunningPolicy):
        kind = "a policy object" if isinstance(source, HeldPolicy) else "a running server"
        raise UsageError(f"replicas {request.replicas}: {kind} is one; valid: 1")


def _run_name(request: EvaluationRequest, benchmark: str) -> str:
    if request.name is None:
        if request.resume:
            raise UsageError("name: say which run to resume")
        return f"{benchmark}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    name = request.name
    if not 1 <= len(name) <= MAX_RUN_NAME or not set(name) <= _NAME_CHARACTERS or name.startswith((".", "-")):
        raise UsageError(
            f"name {name!r}: use 1 to {MAX_RUN_NAME} letters, digits, '.', '_', '+' or '-'; "
            "the first not '.' or '-'"
        )
    return name


_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")


def _work_items(episodes: Sequence[Episode], window: int) -> int:
    """How many pieces the episodes are handed out in; a worker more than that would have nothing to do."""
    by_task = Counter(episode.task for episode in episodes)
    return sum(math.ceil(count / window) for count in by_task.values())


def _workers(request: EvaluationRequest, items: int) -> int:
    return min(request.workers or len(os.sched_getaffinity(0)), items)


def estimate(plan: EvaluationPlan) -> Estimate:
    """Guess from earlier runs of the same benchmark in the same place; without any, from the horizons."""
    known = _seconds_by_task(plan)
    assumed = {e.task: sum(s.horizon for s in e.segments) * ASSUMED_STEP_S for e in plan.episodes}
    work = sum(known.get(episode.task, assumed[episode.task]) for episode in plan.episodes)
    guess = (
        f"to every horizon at {ASSUMED_STEP_S * 1000:g} ms a control step; frames without a GPU take longer"
    )
    told = sum(task in known for task in assumed)
    if told == len(assumed):
        basis = "from earlier runs here"
    elif told:
        basis = f"from earlier runs here of {told} of {len(assumed)} tasks; the others {guess}"
    else:
        basis = f"{guess}; no earlier run here"
    return Estimate(ASSUMED_START_S + work / plan.workers, basis)


def _seconds_by_task(plan: EvaluationPlan) -> dict[str, float]:
    seconds: dict[str, list[float]] = {}
    for run in list_runs(plan.directory.parent):
        if run.state in ("complete", "partial") and run.benchmark == plan.definition.id:
            for record in _readable(run.directory):
                seconds.setdefault(record.task, []).append(record.episode_s + record.teardown_s)
    return {task: fmean(values) for task, values in seconds.items()}


def _readable(directory: Path) -> tuple[EpisodeRecord, ...]:
    """An estimate must not fail because an old run is damaged."""
    try:
        return read_episodes(directory)
    except UsageError:
        return ()
