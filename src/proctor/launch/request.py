"""`proctor.evaluate`, and the one path from a request to results that the command line takes too.

EvaluationRequest  →  planning.make_plan  →  local.LocalRun  →  Results
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.evaluation.record import Filmed
from proctor.launch.interrupts import BY_THE_USER
from proctor.limits import ACT_TIMEOUT_S
from proctor.policy import Policy

if TYPE_CHECKING:
    from proctor.coordinator.progress import Progress
    from proctor.results import Results


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """What a user asks for. None means: as the benchmark, or the machine, has it."""

    policy: str | Path | Policy
    """A Policy object, `file.py:Class`, `module:Class`, a policy process file, or a running endpoint."""
    benchmark: str
    name: str | None = None
    """Of the run and its directory; benchmark and time when None."""
    suite: str | None = None
    tasks: Sequence[str] | None = None
    episodes: int | None = None
    """Episodes per task."""
    repeat: int = 1
    """How often each episode is run, each time with another policy seed."""
    workers: int | None = None
    """Simulator processes; one per usable core when None, never more than Work Items."""
    replicas: int = 1
    """Policy servers; worker w uses replica w mod replicas."""
    execute_steps: str | None = None
    """`fixed:k` or `policy<=k` in place of the benchmark's rule; the run is labelled as overridden."""
    run_seed: int = 0
    checkpoint: str | None = None
    policy_args: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the policy's constructor."""
    policy_python: str | None = None
    """Interpreter of the policy's process: a path, or `env:NAME`."""
    dialect: str | None = None
    """Wire protocol of a running server; found out when None."""
    mapping: str | None = None
    """Names, sizes and types that a running server expects: a preset, or a TOML or JSON file."""
    token_file: str | Path | None = None
    """File with the token that a running server asks for."""
    ca_file: str | Path | None = None
    """Certificates that a running server's is checked against, in place of the system's."""
    accept_batching: bool = False
    """Merge concurrent requests of a policy that does not promise batch invariance."""
    act_timeout_s: float = ACT_TIMEOUT_S
    record: Filmed = "none"
    """Which episodes are filmed."""
    run_directory: str | Path = "runs"
    """Where runs live."""
    resume: bool = False
    """Go on with a run: exactly the episodes without a result."""
    command: tuple[str, ...] = ()
    """Recorded as what started the run."""


@dataclass(frozen=True)
class Callbacks:
    """Who hears about a run while it goes on. All are called on the thread that runs it."""

    say: Callable[[str], None] = lambda text: None
    """One line about what is being done."""
    progress: Callable[[Progress], None] = lambda progress: None
    """Each look at the run, about twice a second."""


def run_evaluation(request: EvaluationRequest, callbacks: Callbacks | None = None) -> Results:
    """Carry out a request to its end.

    Raises UsageError for what the user can mend, PolicyLoadError before any episode ran, EnvironmentMissing
    or InfrastructureFault for the machine. Once episodes ran, faults are in the results. The environment is
    built when it is missing. Ctrl-C once stops cleanly, twice at once; either way the run can be resumed.
    """
    from proctor.launch.local import run_locally
    from proctor.launch.planning import make_plan

    return run_locally(make_plan(request), callbacks or Callbacks())


def evaluate(
    policy: str | Path | Policy,
    *,
    benchmark: str,
    name: str | None = None,
    suite: str | None = None,
    tasks: str | Sequence[str] | None = None,
    episodes: int | None = None,
    repeat: int = 1,
    workers: int | None = None,
    execute_steps: str | None = None,
    run_seed: int = 0,
    checkpoint: str | None = None,
    dialect: str | None = None,
    mapping: str | None = None,
    token_file: str | Path | None = None,
    accept_batching: bool = False,
    act_timeout_s: float = ACT_TIMEOUT_S,
    record: Filmed = "none",
    run_directory: str | Path = "runs",
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> Results:
    """Evaluate a policy on a benchmark and return the results.

    `policy` is a Policy object, which is served from this process while the call lasts (its methods run on a
    thread of its own), or whatever `proctor bench eval --policy` takes. The options are those of
    `EvaluationRequest`; `tasks` may be one name. `progress` is called with snapshots of the run, `say` with
    lines about what is being done. Raises what `run_evaluation` raises, and KeyboardInterrupt, after an
    orderly end, when the run was interrupted: whatever called this was interrupted too.
    """
    request = EvaluationRequest(
        policy=policy,
        benchmark=benchmark,
        name=name,
        suite=suite,
        tasks=(tasks,) if isinstance(tasks, str) else tasks,
        episodes=episodes,
        repeat=repeat,
        workers=workers,
        execute_steps=execute_steps,
        run_seed=run_seed,
        checkpoint=checkpoint,
        dialect=dialect,
        mapping=mapping,
        token_file=token_file,
        accept_batching=accept_batching,
        act_timeout_s=act_timeout_s,
        record=record,
        run_directory=run_directory,
        resume=resume,
    )
    silent = Callbacks()
    results = run_evaluation(request, Callbacks(say or silent.say, progress or silent.progress))
    if results.run.end_reason == BY_THE_USER:
        raise KeyboardInterrupt
    return results
