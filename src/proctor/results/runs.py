"""The runs in a directory, one line each; loading one is `load_results`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Literal

import msgspec

from proctor.errors import UnknownNameError, UsageError
from proctor.results.results import headline_of, load_results
from proctor.results.results_file import (
    EPISODES_NAME,
    RESULTS_NAME,
    ResultsFile,
    lines_digest,
    read_results_file,
)

STORE_NAME = "run.db"
MARKS = (RESULTS_NAME, EPISODES_NAME, STORE_NAME)
"""A directory that holds any of these is a run."""

State = Literal["complete", "partial", "unfinished", "unreadable"]


class RunListing(msgspec.Struct, frozen=True, kw_only=True):
    """One run at a glance."""

    name: str
    directory: Path
    state: State
    """`unfinished`: still running, or the end of its last launch was never written; it can be resumed."""
    benchmark: str = ""
    policy: str = ""
    started_at: str = ""
    text: str = ""
    """Headline with its labels, the reason there is none, or what cannot be read."""


def list_runs(root: Path) -> tuple[RunListing, ...]:
    """The runs under `root`, by name; none when the directory does not exist."""
    if not root.is_dir():
        return ()
    return tuple(_listing(directory) for directory in sorted(root.iterdir()) if _is_run(directory))


def find_run(root: Path, name: str) -> RunListing:
    """The run called `name`. Raises UnknownNameError naming the runs there are."""
    runs = {listing.name: listing for listing in list_runs(root)}
    if name not in runs:
        raise UnknownNameError("run", name, runs)
    return runs[name]


def _is_run(directory: Path) -> bool:
    return directory.is_dir() and any((directory / mark).exists() for mark in MARKS)


def _listing(directory: Path) -> RunListing:
    episodes = _episodes(directory)
    lines = episodes.count(b"\n")
    so_far = f"{lines} episodes so far"
    if not (directory / RESULTS_NAME).exists():
        return RunListing(name=directory.name, directory=directory, state="unfinished", text=so_far)
    try:
        file = read_results_file(directory)
        resumed = _went_on(file, episodes)
        if not resumed:
            load_results(directory)
    except UsageError as error:
        return RunListing(name=directory.name, directory=directory, state="unreadable", text=str(error))
    missing = file.summary.ledger.missing
    return RunListing(
        name=directory.name,
        directory=directory,
        state="unfinished" if resumed else "partial" if missing else "complete",
        benchmark=file.run.benchmark.id,
        policy=file.run.policy.spec,
        started_at=file.run.started_at,
        text=so_far if resumed else headline_of(file),
    )


def _went_on(file: ResultsFile, episodes: bytes) -> bool:
    """Whether the journal has lines after those that the results were computed from: the run was resumed."""
    completed = file.summary.ledger.completed
    lines = list(io.BytesIO(episodes))
    if len(lines) <= completed:
        return False
    return file.episodes_sha256 in (None, lines_digest(b"".join(lines[:completed])))


def _episodes(directory: Path) -> bytes:
    """The journal; empty where there is none."""
    try:
        return (directory / EPISODES_NAME).read_bytes()
    except OSError:
        return b""
