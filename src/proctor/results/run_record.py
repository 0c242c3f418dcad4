"""What a run was: everything a report is computed from, besides its episode records.

Whoever ran the evaluation fills a `RunRecord` once, from the frozen plan and the store; nothing in this
package asks a clock, a machine or a database. Every struct here is part of `results.json`, so a field is
added with a default and never changes its meaning.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.evaluation.protocol import WorkerHello
from proctor.evaluation.record import EVALUATED, ErrorRecord, Filmed, Finite, Outcome

if TYPE_CHECKING:
    from proctor.wire.session import SessionDescription

Count = Annotated[int, msgspec.Meta(ge=0)]


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of everything in `results.json`."""


class BenchmarkRecord(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The benchmark version that was run, by content hash, with what a reader must know to read a rate."""

    id: str
    title: str
    hash: str
    """SHA-256 over the version's files, hexadecimal."""
    status: Literal["draft", "frozen"]
    family: str
    environment: str
    control_hz: Finite
    execute_steps: str
    """The benchmark's own rule; `RunSettingsRecord.execute_steps` is what was applied."""
    settle_steps: int
    success: Literal["once", "at_end", "held"]
    """Which meaning of success `Outcome.SUCCESS` stands for."""
    held_steps: int
    stop_on_success: bool
    on_native_crash: Literal["retry", "fail_window"]
    render_profile: str
    packages: dict[str, str]
    """Simulator packages the version is defined on."""


class Selection(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which part of the version was asked for; None means all of it."""

    suite: str
    tasks: tuple[str, ...] | None = None
    episodes: int | None = None
    """Episodes per task, when fewer than the version lists."""
    repeat: int = 1


class PlannedTask(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One task of the plan."""

    id: str
    weight: Finite = 1.0
    """Share in the overall rate, relative to the other planned tasks."""
    axes: tuple[str, ...] = ()
    horizon: int
    """Control steps."""
    segments: int = 1
    """Instructions in a row, of its longest episode."""


class PlannedEpisode(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One episode that the run owes a result for: the only source of denominators."""

    id: str
    task: str
    index: int
    repetition: int
    seed: int


class RunSettingsRecord(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How every episode of the run was executed."""

    run_seed: int
    execute_steps: str
    """`fixed:k`, `policy<=k`, or `server-owned` where the server decides."""
    overridden: tuple[str, ...] = ()
    """Settings of the benchmark the user replaced, by name, for example `execute_steps`."""
    action_representation: str
    observe: tuple[str, ...] = ()
    """Features read for the policy. Over a `mapping`, those are sent that it names."""
    record: Filmed = "none"
    act_timeout_s: Finite
    dialect: str = "local"
    """Name of the wire protocol."""
    dialect_reason: str = ""
    """Why it was taken for that: named by the user, or by what the server did."""
    mapping: dict[str, Any] | None = None
    """The server's terms, whole; None where features travel under their own names."""


class PolicyRecord(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which policy answered. Holds no secret: the caller leaves out the values of arguments that are."""

    spec: str
    """`file.py:Class`, `module:Class`, a process file, or `object:Class` for one served by its caller."""
    args: dict[str, Any] = {}
    checkpoint: str | None = None
    checkpoint_sha256: str | None = None
    file_sha256: str | None = None
    """Digest of the file that defines the class, or of the policy process file, where there is one."""
    files_sha256: dict[str, str] = {}
    """Digests of further files with the policy's code, by the name its command line has for them."""
    verified: bool | None = None
    """Whether a digest of the policy's code was taken; None in runs that did not record it."""


class ReplicaRecord(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One policy server, as negotiated."""

    dialect: str
    endpoint: str
    action_representation: str
    action_representation_source: str
    chunk_owner: Literal["worker", "server"]
    batching: Literal["none", "invariant", "accepted"]
    seeds: Literal["used", "unused", "unknown"]
    capabilities: dict[str, Any]
    """What the policy declared, as JSON values."""
    mapping: str | None = None
    """Name of the mapping in use."""
    codec: str | None = None
    """How images change on the wire; None where they do not."""
    cannot: tuple[str, ...] = ()
    """What the wire cannot carry."""
    details: dict[str, Any] = {}
    """What the server said of itself, JSON values."""


class PolicyEnd(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A policy server that ended while it was needed."""

    replica: str
    how: str
    """Exit status or signal, and why, where that is known."""
    log: str | None = None
    """Path, relative to the run directory; None for a policy of the calling process."""


class Incident(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A process of the run that ended while it was needed, and was started again."""

    process: str
    how: str
    """Exit status or signal."""
    at: str
    """UTC, ISO 8601."""
    log: str | None = None
    """Path, relative to the run directory."""


class PlatformRecord(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Workers that ran under one platform: bit equality of simulations is promised within one."""

    workers: tuple[str, ...]
    platform: str
    python: str
    packages: dict[str, str]
    renderer: str


class Provenance(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the run was made from."""

    proctor: str
    """Version of the distribution."""
    commit: str | None = None
    dirty: bool | None = None
    """Whether the source tree had uncommitted changes; None where there is no source tree."""
    python: str
    packages: dict[str, str] = {}
    """Packages of the interpreter that ran the coordinator."""
    command: tuple[str, ...] = ()


class AttemptFault(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What kept one attempt, or one of its episodes, from a result. An attempt may have several."""

    item: int
    attempt: int
    outcome: Outcome
    """Never one of the evaluated outcomes."""
    worker: str | None = None
    episodes: tuple[str, ...] = ()
    """Ids of the episodes that had no accepted result because of it."""
    error: ErrorRecord | None = None
    """None for a release without a fault."""
    at: str | None = None
    """UTC, ISO 8601."""

    def __post_init__(self) -> None:
        if self.outcome in EVALUATED:
            raise ValueError(f"a fault cannot have the evaluated outcome {self.outcome.value!r}")


class Quarantine(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A Work Item that used up its attempts: its episodes are missing, never failures."""

    item: int
    attempts: int
    episodes: tuple[str, ...]


class RunRecord(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One run, without its episodes."""

    name: str
    benchmark: BenchmarkRecord
    selection: Selection
    tasks: Annotated[tuple[PlannedTask, ...], msgspec.Meta(min_length=1)]
    planned: Annotated[tuple[PlannedEpisode, ...], msgspec.Meta(min_length=1)]
    settings: RunSettingsRecord
    policy: PolicyRecord
    replicas: tuple[ReplicaRecord, ...]
    platforms: tuple[PlatformRecord, ...] = ()
    provenance: Provenance
    workers: Count
    started_at: str
    """UTC, ISO 8601, of the first start; a resumed run keeps it."""
    finished_at: str
    ended: Literal["drained", "interrupted", "aborted"] = "drained"
    """`drained`: nothing was left to claim. `interrupted`: by the user. `aborted`: a budget ran out."""
    end_reason: str = ""
    phases_s: dict[str, Finite] = {}
    """Seconds by phase of the run (policy load, evaluation), the phases named by whoever ran it."""
    faults: tuple[AttemptFault, ...] = ()
    quarantined: tuple[Quarantine, ...] = ()
    policy_ends: tuple[PolicyEnd, ...] = ()
    """In this launch of the run."""
    incidents: tuple[Incident, ...] = ()
    """In this launch of the run."""
    refused_results: Count = 0
    """Results that came with a superseded token and were not accepted."""


def benchmark_record(
    definition: BenchmarkDefinition, version_hash: str, status: Literal["draft", "frozen"]
) -> BenchmarkRecord:
    """What is recorded of a version whose files have this hash."""
    return BenchmarkRecord(
        id=definition.id,
        title=definition.title,
        hash=version_hash,
        status=status,
        family=definition.family,
        environment=definition.environment,
        control_hz=definition.control_hz,
        execute_steps=definition.execute_steps,
        settle_steps=definition.settle_steps,
        success=definition.success,
        held_steps=definition.held_steps,
        stop_on_success=definition.stop_on_success,
        on_native_crash=definition.on_native_crash,
        render_profile=definition.render.name,
        packages=definition.packages,
    )


def planned_tasks(
    definition: BenchmarkDefinition, episodes: Iterable[Episode]
) -> tuple[tuple[PlannedTask, ...], tuple[PlannedEpisode, ...]]:
    """The tasks (in the definition's order) and identities of a selection of episodes."""
    planned, segments = [], dict[str, int]()
    for e in episodes:
        planned.append(
            PlannedEpisode(id=e.id, task=e.task, index=e.index, repetition=e.repetition, seed=e.seed)
        )
        segments[e.task] = max(len(e.segments), segments.get(e.task, 1))
    tasks = tuple(
        PlannedTask(
            id=task.id, weight=task.weight, axes=task.axes, horizon=task.horizon, segments=segments[task.id]
        )
        for task in definition.tasks
        if task.id in segments
    )
    return tasks, tuple(planned)


def replica_record(description: SessionDescription) -> ReplicaRecord:
    """What is recorded of one negotiated session."""
    return ReplicaRecord(
        dialect=description.dialect,
        endpoint=description.endpoint,
        action_representation=description.action_representation,
        action_representation_source=description.action_representation_source,
        chunk_owner=description.chunk_owner,
        batching=description.batching,
        seeds=description.seeds,
        capabilities=msgspec.to_builtins(description.capabilities.to_dict(), str_keys=True),
        mapping=description.mapping,
        codec=description.codec,
        cannot=description.cannot,
        details=description.details,
    )


def platform_records(workers: Iterable[WorkerHello]) -> tuple[PlatformRecord, ...]:
    """Worker processes grouped by platform; a worker that was started again elsewhere is in both groups."""
    groups: dict[tuple[object, ...], list[WorkerHello]] = {}
    for hello in workers:
        key = (hello.platform, hello.python, tuple(sorted(hello.packages.items())), hello.renderer)
        groups.setdefault(key, []).append(hello)
    return tuple(
        PlatformRecord(
            workers=tuple(sorted({hello.worker for hello in group})),
            platform=group[0].platform,
            python=group[0].python,
            packages=dict(sorted(group[0].packages.items())),
            renderer=group[0].renderer,
        )
        for _, group in sorted(groups.items(), key=lambda entry: repr(entry[0]))
    )
