"""`launch.json`: what of a run is in nobody's store but known only to whoever launched it.

Written when the run begins, and again with its closing when it ends. With the store beside it, results can be
made of it at any time: after a `kill -9` too, when nobody is left who knows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.durable import write_durably
from proctor.errors import UsageError
from proctor.evaluation.record import Finite
from proctor.results.run_record import (
    BenchmarkRecord,
    Count,
    Data,
    Incident,
    PolicyEnd,
    PolicyRecord,
    Provenance,
    ReplicaRecord,
    RunSettingsRecord,
    Selection,
)

LAUNCH_NAME: Final = "launch.json"


class Closing(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a launch ended; the fields are those of `RunRecord`."""

    finished_at: str
    ended: Literal["drained", "interrupted", "aborted"]
    end_reason: str
    phases_s: dict[str, Finite]
    policy_ends: tuple[PolicyEnd, ...] = ()
    incidents: tuple[Incident, ...] = ()


class LaunchRecord(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Content of `launch.json`, of the last launch; the fields are those of `RunRecord`."""

    schema: Literal["proctor/launch/1"] = "proctor/launch/1"
    name: str
    benchmark: BenchmarkRecord
    selection: Selection
    settings: RunSettingsRecord
    policy: PolicyRecord
    replicas: tuple[ReplicaRecord, ...]
    provenance: Provenance
    workers: Count
    closing: Closing | None = None
    """None while the run goes on, and for ever where its launcher was killed."""


def write_launch(directory: Path, launch: LaunchRecord) -> None:
    """Write `launch.json` durably. Raises OSError."""
    write_durably(directory / LAUNCH_NAME, msgspec.json.format(msgspec.json.encode(launch)) + b"\n")


def read_launch(directory: Path) -> LaunchRecord:
    """Read `launch.json`. Raises UsageError when it is absent or not one."""
    path = directory / LAUNCH_NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=LaunchRecord)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
