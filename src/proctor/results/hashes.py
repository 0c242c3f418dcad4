"""Digests: what came out, what was done, and under which conditions.

Same conditions, same outcomes: for any number of workers, any order and any crash. All are SHA-256 over
canonical JSON: UTF-8, keys sorted, no spaces, floats as the shortest text that reads back the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from proctor.evaluation.record import EpisodeRecord
from proctor.results.run_record import (
    PlatformRecord,
    PolicyRecord,
    ReplicaRecord,
    RunRecord,
    RunSettingsRecord,
)

OUTCOMES = "proctor/outcomes/1"
ACTIONS = "proctor/actions/1"
CONDITIONS = "proctor/conditions/1"


def outcome_hash(records: Iterable[EpisodeRecord]) -> str:
    """Hexadecimal digest over (task, index, repetition, seed, outcome, steps) of every record.

    Who ran an episode, when and how fast takes no part; neither does the order of the records.
    """
    rows = sorted(
        (record.task, record.index, record.repetition, record.seed, record.outcome.value, record.steps)
        for record in records
    )
    return _digest({"schema": OUTCOMES, "episodes": rows})


def actions_hash(records: Iterable[EpisodeRecord]) -> str | None:
    """Hexadecimal digest over the identity and `actions_sha256` of every record; None where one has none.

    Stricter than `outcome_hash`: where every episode fails at its horizon, outcomes agree for any policy,
    actions do not. Floating-point results are equal within one platform fingerprint only.
    """
    rows = [
        (record.task, record.index, record.repetition, record.seed, record.actions_sha256)
        for record in records
    ]
    if not rows or any(row[-1] is None for row in rows):
        return None
    return _digest({"schema": ACTIONS, "episodes": sorted(rows)})


def conditions_hash(run: RunRecord) -> str:
    """Hexadecimal digest over what may move an outcome without anyone being wrong.

    Where a policy or checkpoint has a digest, that stands for it and its path does not. Names, paths of the
    run, worker and replica counts, recording and times take no part.
    """
    return _digest(
        {
            "schema": CONDITIONS,
            "benchmark": {"id": run.benchmark.id, "hash": run.benchmark.hash},
            "episodes": sorted((e.task, e.index, e.repetition, e.seed) for e in run.planned),
            "settings": _settings(run.settings),
            "policy": policy_conditions(run.policy),
            "wires": _distinct(map(wire_conditions, run.replicas)),
            "platforms": _distinct(map(_platform, run.platforms)),
            # A worker that never rendered says "none"; that depends on who got which episode.
            "renderers": sorted({platform.renderer for platform in run.platforms} - {"none"}),
            "proctor": run.provenance.proctor,
        }
    )


def _settings(settings: RunSettingsRecord) -> dict[str, object]:
    conditions = {
        "run_seed": settings.run_seed,
        "execute_steps": settings.execute_steps,
        "action_representation": settings.action_representation,
        "observe": sorted(settings.observe),
        "act_timeout_s": settings.act_timeout_s,
    }
    return conditions | _if_any("mapping", mapping_conditions(settings.mapping))


def mapping_conditions(mapping: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A mapping without its name: what it says, not what it is called."""
    return None if mapping is None else {key: value for key, value in mapping.items() if key != "name"}


def policy_conditions(policy: PolicyRecord) -> dict[str, object]:
    """What makes it this policy. Where a file has a digest, its path takes no part."""
    conditions = {
        "source": policy.file_sha256 or policy.spec,
        "class": "" if policy.spec.endswith(".json") else policy.spec.rpartition(":")[2],
        "args": policy.args,
        "checkpoint": policy.checkpoint_sha256 or policy.checkpoint,
    }
    return conditions | _if_any("files", policy.files_sha256 or None)


def wire_conditions(replica: ReplicaRecord) -> dict[str, object]:
    """What of a policy server's contract may move an outcome."""
    conditions = {
        "dialect": replica.dialect,
        "chunk_owner": replica.chunk_owner,
        "batching": replica.batching,
        "seeds": replica.seeds,
    }
    return conditions | _if_any("codec", replica.codec)


def _if_any(name: str, value: object) -> dict[str, object]:
    """A condition that older runs know nothing of takes part where it is set: they keep their digest."""
    return {} if value is None else {name: value}


def _platform(platform: PlatformRecord) -> dict[str, object]:
    return {"platform": platform.platform, "python": platform.python, "packages": platform.packages}


def _distinct(parts: Iterable[object]) -> list[str]:
    return sorted({_canonical(part) for part in parts})


def _digest(content: object) -> str:
    return hashlib.sha256(_canonical(content).encode()).hexdigest()


def _canonical(content: object) -> str:
    plain = msgspec.to_builtins(content)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
