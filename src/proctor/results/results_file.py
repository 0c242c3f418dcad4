"""`results.json` and `episodes.jsonl`: what a run leaves for machines to read.

`docs/reference/results-format.md` describes every field. A number that is not finite is refused on the way
out (JSON has no word for it and null would mean "not measured") and on the way in.

Both files are sealed: `digest` is over the bytes of `results.json`, which has the digest of the episodes.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec.structs import replace

from proctor.durable import write_durably
from proctor.errors import InfrastructureFault, UsageError
from proctor.evaluation.record import EpisodeRecord
from proctor.results.hashes import actions_hash, conditions_hash, outcome_hash
from proctor.results.run_record import Data, RunRecord
from proctor.results.summary import Summary, summarize

SCHEMA: Final = "proctor/results/1"
RESULTS_NAME = "results.json"
EPISODES_NAME = "episodes.jsonl"

_UNSEALED: Final = "0" * 64
"""Stands where the digest will, while it is computed."""

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class ResultsFile(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Content of `results.json`."""

    schema: Literal["proctor/results/1"] = SCHEMA
    digest: Sha256 | None = None
    """Of this file's bytes, with zeros for these 64 digits; None in older files."""
    episodes_sha256: Sha256 | None = None
    """Of the lines of `episodes.jsonl`, sorted; None in older files."""
    outcome_hash: str
    conditions_hash: str
    actions_hash: str | None = None
    """None where a record has no digest of its actions."""
    summary: Summary
    run: RunRecord


def make_results_file(
    run: RunRecord, records: Sequence[EpisodeRecord], episodes_sha256: str | None = None
) -> ResultsFile:
    """The content that follows from a run and its records, and from nothing else; sealed.

    `episodes_sha256`: of the file that holds the records, if there is one; see `lines_digest`.
    """
    content = ResultsFile(
        episodes_sha256=episodes_sha256,
        outcome_hash=outcome_hash(records),
        conditions_hash=conditions_hash(run),
        actions_hash=actions_hash(records),
        summary=summarize(run, records),
        run=run,
    )
    unsealed = encode_results(replace(content, digest=_UNSEALED))
    return replace(content, digest=hashlib.sha256(unsealed).hexdigest())


def lines_digest(data: bytes) -> str:
    """SHA-256, hexadecimal, over the lines of `data`, each with its line break, in sorted order."""
    return hashlib.sha256(b"".join(sorted(io.BytesIO(data)))).hexdigest()


def encode_results(results: ResultsFile) -> bytes:
    """The bytes of `results.json`. Raises InfrastructureFault naming a field that is not finite."""
    plain = msgspec.to_builtins(results)
    _refuse_not_finite(plain, "results")
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def decode_results(data: bytes, source: str = RESULTS_NAME) -> ResultsFile:
    """Read `results.json`, strictly. Raises UsageError naming `source` and what is wrong with it.

    Any byte that differs from what was written is wrong; older files have no digest to tell by.
    """
    try:
        schema = msgspec.json.decode(data, type=_SchemaOnly).schema
        if schema != SCHEMA:
            raise UsageError(f"{source} has the schema {schema!r}; this version of proctor reads {SCHEMA!r}")
        content = msgspec.json.decode(data, type=ResultsFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{source} cannot be read: {error}") from error
    _refuse_edited(content, data, source)
    return content


def _refuse_edited(content: ResultsFile, data: bytes, source: str) -> None:
    if content.digest is None:
        return
    found = hashlib.sha256(data.replace(content.digest.encode(), _UNSEALED.encode(), 1)).hexdigest()
    if found != content.digest:
        raise UsageError(
            f"{source} was edited or damaged: its digest is {content.digest}, its content has {found}"
        )


def write_results_file(directory: Path, results: ResultsFile) -> Path:
    """Write `results.json` durably; its presence says that the run was brought to an end."""
    path = directory / RESULTS_NAME
    write_durably(path, encode_results(results))
    return path


def read_results_file(directory: Path) -> ResultsFile:
    """Read a run's `results.json`. Raises UsageError when it is absent or not one."""
    path = directory / RESULTS_NAME
    return decode_results(read_bytes(path), str(path))


def read_episodes(directory: Path) -> tuple[EpisodeRecord, ...]:
    """Read a run's `episodes.jsonl`: one accepted result per line. Raises UsageError naming a bad line."""
    return decode_episodes(read_bytes(directory / EPISODES_NAME), directory / EPISODES_NAME)


def decode_episodes(data: bytes, path: Path) -> tuple[EpisodeRecord, ...]:
    """The records in the bytes of an `episodes.jsonl`. Raises UsageError naming `path` and a bad line."""
    decoder = msgspec.json.Decoder(EpisodeRecord)
    records = []
    for number, line in enumerate(io.BytesIO(data), start=1):
        try:
            records.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}, line {number}, is no episode record: {error}") from error
    return tuple(records)


class _SchemaOnly(msgspec.Struct, frozen=True):
    schema: str


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises UsageError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _refuse_not_finite(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _refuse_not_finite(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            _refuse_not_finite(inner, f"{where}[{position}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InfrastructureFault(f"{where} is {value}; results hold finite numbers only")
