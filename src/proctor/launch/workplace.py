"""Places a run needs on this machine: its directory, a directory for sockets, an environment for workers."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.benchmarks import checkouts
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import ProctorError, UsageError
from proctor.launch import environments, graphics, vulkan
from proctor.launch.own import files_of, own_place
from proctor.launch.surroundings import worker_environment
from proctor.results import list_runs
from proctor.results.runs import STORE_NAME

LOCK_FILE: Final = ".launch.lock"


@dataclass(frozen=True)
class Workplace:
    """Where workers run."""

    interpreter: Path
    environment: Mapping[str, str]
    directory: Path
    """Of the run."""


def make_workplace(
    version: BenchmarkVersion, directory: Path, say: Callable[[str], None], python: str | None = None
) -> Workplace:
    """Build the simulator environment if it is missing, and choose how it renders.

    Graphics and a simulator that is a checkout come first: without them nothing of size is downloaded.
    `python` is the interpreter of a benchmark of the user's own. Raises EnvironmentMissing with the apt line,
    with the checkout's place or with what that interpreter lacks, or InfrastructureFault with what uv said.
    """
    if own := own_place(version, python):
        return Workplace(own.interpreter, own.variables, directory)
    environment = version.definition.environment
    variables = {**worker_environment(renderer_of(environment)), **files_of(version)}
    _require_checkout(environment)
    if environment != environments.HOST and not environments.is_built(environments.find(environment)):
        environments.build(environment, say)
    return Workplace(environments.interpreter(environment), variables, directory)


def _require_checkout(environment: str) -> None:
    """Raise EnvironmentMissing where the simulator is to be imported from a checkout that is not there."""
    source = None if environment == environments.HOST else environments.find(environment).source
    if source is not None and source.python_path:
        checkouts.require(environment, source.variable, source.commit)


def renderer_of(environment: str) -> graphics.Graphics | None:
    """How MuJoCo is to render; None for what is no MuJoCo. Raises as `make_workplace`."""
    how = "none" if environment == environments.HOST else environments.find(environment).graphics
    if how == "vulkan":
        vulkan.require()
    return graphics.choose() if how == "mujoco" else None


def check_run(directory: Path, *, resume: bool) -> None:
    """Raise UsageError for a new run that exists, and for one to resume that does not."""
    exists = (directory / STORE_NAME).exists()
    if exists and not resume:
        raise UsageError(
            f"run {directory.name!r} exists; go on with it (--resume, or resume=True in Python) or choose"
            " another name"
        )
    # A launch that was interrupted before its plan was on the disk leaves its lock: it is begun anew.
    if resume and not exists and not (directory / LOCK_FILE).exists():
        known = ", ".join(run.name for run in list_runs(directory.parent)) or "(none)"
        raise UsageError(f"run {directory.name!r} cannot be resumed: it never started. Runs there: {known}")


@contextmanager
def run_directory(directory: Path, *, resume: bool, command: Sequence[str] = ()) -> Iterator[None]:
    """Make the run's directory, or find it, and be its only launcher while the block lasts.

    `command`, without secrets, is kept for whoever finds the run unfinished.

    Raises UsageError for a run that exists, for one to resume that does not, for one that is running, and for
    a place that cannot be written.
    """
    check_run(directory, resume=resume)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock_file = (directory / LOCK_FILE).open("a")
    except OSError as error:
        raise UsageError(f"run directory {directory} cannot be written: {error.strerror}") from None
    with lock_file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"run {directory.name!r} is being run by another process") from None
        lock.truncate(0)
        lock.write(json.dumps(list(command)))
        lock.flush()
        try:
            yield
        except ProctorError:
            _remove_if_nothing_came_of_it(directory)
            raise


def _remove_if_nothing_came_of_it(directory: Path) -> None:
    """Remove the directory of a launch that was refused before it had a plan, or a log with a word in it."""
    files = [path for path in directory.rglob("*") if not path.is_dir() and path.name != LOCK_FILE]
    if not any(path.name == STORE_NAME or path.stat().st_size for path in files):
        shutil.rmtree(directory, ignore_errors=True)


def last_launch(directory: Path) -> tuple[tuple[str, ...], bool]:
    """The command that launched a run last, empty where it is not known, and whether it is running now."""
    try:
        with (directory / LOCK_FILE).open() as lock:
            words = lock.read()
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                running = True
            else:
                running = False
        return tuple(json.loads(words or "[]")), running
    except (OSError, ValueError):
        return (), False


@contextmanager
def socket_directory(run: Path) -> Iterator[Path]:
    """A private directory with a short path, for the addresses of Unix sockets (107 bytes at most).

    It is named after the run, so that what a killed launcher left is used again and removed. Raises
    UsageError if somebody else has taken the name.
    """
    name = f"proctor-{os.geteuid()}-{hashlib.sha256(os.fsencode(run)).hexdigest()[:12]}"
    place = Path(tempfile.gettempdir()) / name
    place.mkdir(mode=0o700, exist_ok=True)
    found = place.lstat()
    if place.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UsageError(f"{place} is not a private directory of this user; remove it or set TMPDIR")
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
