"""Rebuilds the starts of a benchmark version in its simulator environment, from the outside."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final, Literal

from proctor.benchmarks.freezing import freeze
from proctor.benchmarks.gymnasium.own import own_version, write_own
from proctor.benchmarks.listing import SEAL
from proctor.benchmarks.orders import STDIN, encode_order
from proctor.benchmarks.references import is_own_file, open_version
from proctor.benchmarks.registry import hidden_by
from proctor.benchmarks.version import EPISODES_FILE, BenchmarkVersion, load_version
from proctor.durable import write_durably
from proctor.errors import BenchmarkFault, UsageError
from proctor.launch import environments
from proctor.launch.own import Place, files_of, own_place
from proctor.launch.surroundings import BOOTSTRAP, worker_environment
from proctor.launch.workplace import renderer_of

STARTS_MODULE: Final = "proctor.benchmarks.freezing"


def run_on_starts(
    version: BenchmarkVersion, what: Literal["states", "check-states"], python: str | None = None
) -> str:
    """Derive (`states`) or compare (`check-states`) every start of a version; returns what was printed.

    `python` is for a benchmark of the user's own. Raises EnvironmentMissing if the environment is not built,
    BenchmarkFault with what went wrong.
    """
    place = place_of(version, python)
    command = [str(place.interpreter), str(BOOTSTRAP), STARTS_MODULE, what, str(STDIN)]
    done = subprocess.run(
        command, input=encode_order(version), env=place.variables, capture_output=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise BenchmarkFault(f"{version.definition.id}: {last.removeprefix('error: ')}")
    return done.stdout.decode().strip()


def place_of(version: BenchmarkVersion, python: str | None) -> Place:
    """Where a version's environments can be opened, outside a run. Builds nothing."""
    if own := own_place(version, python):
        return own
    interpreter = environments.interpreter(version.definition.environment)
    renderer = renderer_of(version.definition.environment)
    return Place(interpreter, {**worker_environment(renderer), **files_of(version)})


def frozen(reference: str, python: str | None = None) -> BenchmarkVersion:
    """Freeze the draft that `reference` names, deriving the starts it does not record yet.

    A short file becomes the directory `conf/benchmarks/<id>` of the working directory once all went well.
    """
    if is_own_file(reference):
        return _frozen_own(Path(reference), python)
    version = open_version(reference)
    assert version.directory is not None, "what is named by a reference lies in a directory"
    if version.status == "draft" and (other := hidden_by(version)) and (other / SEAL).exists():
        raise UsageError(
            f"{version.definition.id} is frozen already, in {other}; a changed benchmark is a new version:"
            f" give {version.directory} an id of its own"
        )
    return _frozen_directory(version.directory, python)


def _frozen_directory(directory: Path, python: str | None) -> BenchmarkVersion:
    version = load_version(directory)
    if version.status == "draft" and any(episode.initial_state is None for episode in version.episodes):
        write_durably(directory / EPISODES_FILE, run_on_starts(version, "states", python).encode() + b"\n")
    return freeze(directory)


def _frozen_own(file: Path, python: str | None) -> BenchmarkVersion:
    root = Path.cwd() / "conf" / "benchmarks"
    final = root / own_version(file).definition.id
    if final.exists():
        raise UsageError(f"{final} exists; a changed benchmark is a new version: give {file} another id")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=root) as unfinished:
        directory = write_own(file, Path(unfinished))
        _frozen_directory(directory, python)
        directory.rename(final)
    return load_version(final)
