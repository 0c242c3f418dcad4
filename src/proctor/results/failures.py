"""Why episodes failed, with examples that nobody picked by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from proctor.evaluation.record import EpisodeRecord, Outcome
from proctor.results.run_record import Data, RunRecord

EXAMPLES = 3
"""Episodes shown per kind: enough to look at, few enough to be looked at."""


class Example(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One episode to look at."""

    episode_id: str
    video: str | None
    """Path relative to the run directory."""


class FailureKind(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Failures that look the same from outside."""

    outcome: Outcome
    reason: str
    """How the episode ended, or phase and type of the policy's error."""
    count: int
    message: str
    """Message of one of the errors, empty for plain failures."""
    examples: tuple[Example, ...]
    log: str | None = None
    """Path, relative to the run directory, of a log that tells more about that message."""


class FaultKind(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Attempts that ended alike without a result."""

    outcome: Outcome
    reason: str
    """Phase and type of the fault."""
    count: int
    """Attempts it ended or disturbed."""
    message: str
    """One of the messages."""


def failure_kinds(run: RunRecord, records: Sequence[EpisodeRecord]) -> tuple[FailureKind, ...]:
    """Failures and policy errors grouped by how they ended, the most frequent first."""
    groups: dict[tuple[Outcome, str], list[EpisodeRecord]] = {}
    for record in records:
        if record.outcome is not Outcome.SUCCESS:
            groups.setdefault((record.outcome, _reason(record)), []).append(record)
    kinds = [
        FailureKind(
            outcome=outcome,
            reason=reason,
            count=len(group),
            message=min((record.error.message for record in group if record.error), default=""),
            examples=draw_examples(run.settings.run_seed, group),
            log=_log(group),
        )
        for (outcome, reason), group in groups.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: (-kind.count, kind.outcome.value, kind.reason)))


def fault_kinds(run: RunRecord) -> tuple[FaultKind, ...]:
    """Faults of benchmark and infrastructure grouped by cause, the most frequent first."""
    attempts: dict[tuple[Outcome, str], set[tuple[int, int]]] = {}
    messages: dict[tuple[Outcome, str], set[str]] = {}
    for fault in run.faults:
        if fault.error is not None:
            key = (fault.outcome, f"{fault.error.phase}: {fault.error.type}")
            attempts.setdefault(key, set()).add((fault.item, fault.attempt))
            messages.setdefault(key, set()).add(fault.error.message)
    kinds = [
        FaultKind(outcome=outcome, reason=reason, count=len(own), message=min(messages[outcome, reason]))
        for (outcome, reason), own in attempts.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: (-kind.count, kind.outcome.value, kind.reason)))


def draw_examples(run_seed: int, records: Iterable[EpisodeRecord]) -> tuple[Example, ...]:
    """A few of the records, drawn by the run's seed and the episode's id alone, filmed ones first."""

    def rank(record: EpisodeRecord) -> tuple[bool, str]:
        draw = hashlib.sha256(f"{run_seed}:{record.episode_id}".encode()).hexdigest()
        return record.video is None, draw

    drawn = sorted(records, key=rank)[:EXAMPLES]
    return tuple(Example(episode_id=record.episode_id, video=record.video) for record in drawn)


def _log(group: Sequence[EpisodeRecord]) -> str | None:
    """Of the record whose message is shown. A policy's own traceback is in the log of its server."""
    failed = [record for record in group if record.error is not None]
    if not failed:
        return None
    shown = min(failed, key=lambda record: (record.error.message if record.error else "", record.episode_id))
    if shown.outcome is Outcome.POLICY_ERROR and shown.policy_replica:
        return f"logs/{shown.policy_replica}.log"
    return shown.error.log if shown.error else None


def _reason(record: EpisodeRecord) -> str:
    if record.error is None:
        return record.termination
    return f"{record.error.phase}: {record.error.type}"
