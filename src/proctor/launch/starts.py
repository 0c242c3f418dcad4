"""Rebuilds the starts of a benchmark version in its simulator environment, from the outside."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Literal

from proctor import _bootstrap
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import BenchmarkFault, UsageError
from proctor.launch import environments, graphics
from proctor.launch.surroundings import worker_environment


def run_on_starts(version: BenchmarkVersion, what: Literal["states", "check-states"]) -> str:
    """Derive (`states`) or compare (`check-states`) every start of a version; returns what was found.

    Raises EnvironmentMissing if the environment is not built, BenchmarkFault with what went wrong.
    """
    if version.directory is None:
        raise UsageError(f"benchmark {version.definition.id!r} has no directory")
    python = environments.interpreter(version.definition.environment)
    command = [str(python), _bootstrap.__file__, "proctor.benchmarks.freezing", what, str(version.directory)]
    done = subprocess.run(
        command, env=worker_environment(graphics.choose()), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BenchmarkFault(f"{version.definition.id}: {last.removeprefix('error: ')}")
    return done.stdout.strip()


def frozen(directory: Path) -> BenchmarkVersion:
    """Freeze the draft in `directory`, deriving the starts it does not record yet."""
    from proctor.benchmarks.freezing import freeze
    from proctor.benchmarks.version import load_version

    version = load_version(directory)
    if version.status == "draft" and any(episode.initial_state is None for episode in version.episodes):
        run_on_starts(version, "states")
    return freeze(directory)
