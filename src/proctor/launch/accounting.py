"""The account of a run: where it was made, under what conditions, and what happened."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.coordinator.export import RunExport
from proctor.evaluation.protocol import RunSettings
from proctor.launch.planning import EvaluationPlan
from proctor.launch.policies import shown_command
from proctor.results import (
    Closing,
    LaunchRecord,
    PolicyRecord,
    Provenance,
    RunRecord,
    RunSettingsRecord,
    Selection,
    benchmark_record,
    mapping_conditions,
    planned_tasks,
    platform_records,
    policy_conditions,
    replica_record,
    wire_conditions,
)
from proctor.wire.opening import Wire
from proctor.wire.session import SessionDescription

KILLED: Final = "the launcher was killed"
"""Reason recorded with a run whose end nobody wrote down."""


def provenance(command: Sequence[str]) -> Provenance:
    """Describe this installation: version, commit where it runs from a source tree, packages; no secrets."""
    commit, dirty = _source_state(Path(__file__).resolve().parents[3])
    return Provenance(
        proctor=_own_version(),
        commit=commit,
        dirty=dirty,
        python=platform.python_version(),
        packages=dict(sorted({d.metadata["Name"].lower(): d.version for d in distributions()}.items())),
        command=shown_command(command),
    )


def _own_version() -> str:
    try:
        return version("proctor")
    except PackageNotFoundError:
        return "unknown"


def _source_state(root: Path) -> tuple[str | None, bool | None]:
    """Commit and dirt of the source tree proctor runs from; None for an installed package."""
    if not (root / ".git").exists():
        return None, None
    commit = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
    return commit, None if changes is None else bool(changes)


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def run_settings_record(plan: EvaluationPlan, settings: RunSettings, wire: Wire) -> RunSettingsRecord:
    """Return how every episode of the run is executed."""
    return RunSettingsRecord(
        run_seed=settings.run_seed,
        execute_steps=settings.execute_steps,
        overridden=plan.overridden,
        action_representation=settings.action_representation,
        observe=settings.observe,
        record=settings.record,
        act_timeout_s=settings.act_timeout_s,
        dialect=settings.dialect,
        dialect_reason=wire.reason,
        mapping=None if settings.mapping is None else msgspec.to_builtins(settings.mapping),
    )


def plan_conditions(policy: PolicyRecord, replica: SessionDescription, wire: Wire) -> dict[str, Any]:
    """What a resume must repeat, besides settings and episodes: policy, wire, and this very proctor.

    Of a policy whose code nobody could read, what it says of itself is all there is to compare.
    """
    recorded = replica_record(replica)
    return {
        **{f"policy.{name}": value for name, value in policy_conditions(policy).items()},
        "policy.capabilities": recorded.capabilities,
        **wire_conditions(recorded),
        "mapping": None if wire.mapping is None else mapping_conditions(msgspec.to_builtins(wire.mapping)),
        "proctor": _own_version(),
    }


def selection(plan: EvaluationPlan) -> Selection:
    """Return which part of the version was asked for."""
    request = plan.request
    return Selection(
        suite=plan.suite,
        tasks=None if request.tasks is None else tuple(request.tasks),
        episodes=request.episodes,
        repeat=request.repeat,
    )


def launch_record(
    plan: EvaluationPlan,
    settings: RunSettings,
    policy: PolicyRecord,
    replicas: Sequence[SessionDescription],
    wire: Wire,
) -> LaunchRecord:
    """What is known of a run once it begins, besides what the store holds."""
    return LaunchRecord(
        name=plan.name,
        benchmark=benchmark_record(plan.definition, plan.version.hash, plan.version.status),
        selection=selection(plan),
        settings=run_settings_record(plan, settings, wire),
        policy=policy,
        replicas=tuple(replica_record(description) for description in replicas),
        provenance=provenance(plan.request.command),
        workers=plan.workers,
    )


def run_record(launch: LaunchRecord, export: RunExport) -> RunRecord:
    """Put the account together from the store and what launching saw.

    Without a closing the launcher was killed: the run ended with the last thing that was stored.
    """
    tasks, planned = planned_tasks(export.settings.benchmark, export.planned)
    closing = launch.closing or Closing(
        finished_at=export.last_at, ended="interrupted", end_reason=KILLED, phases_s={}
    )
    return RunRecord(
        name=launch.name,
        benchmark=launch.benchmark,
        selection=launch.selection,
        tasks=tasks,
        planned=planned,
        settings=launch.settings,
        policy=launch.policy,
        replicas=launch.replicas,
        platforms=platform_records(export.workers),
        provenance=launch.provenance,
        workers=launch.workers,
        started_at=export.created_at,
        finished_at=closing.finished_at,
        ended=closing.ended,
        end_reason=closing.end_reason,
        phases_s=closing.phases_s,
        faults=export.faults,
        quarantined=export.quarantined,
        policy_ends=closing.policy_ends,
        incidents=closing.incidents,
        refused_results=export.refused_results,
    )
