"""Other projects' packages, installed from hashed locks into environments of their own.

`tests/interop/locks/<name>.lock` is built once, into `$PROCTOR_HOME/interop/<name>-<address>/`, where the
address is that of the lock, this Python and this platform. `locks/<name>.in` says what it was compiled
from, in the way of the Makefile's other locks.
"""

from __future__ import annotations

import fcntl
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.launch.environments import address, home
from proctor.launch.uv import run_uv

LOCKS = Path(__file__).parent / "locks"

Interpreter = Callable[[str], Path]
"""From the name of a lock to the interpreter that has its packages."""


@pytest.fixture(scope="session")
def interpreter() -> Interpreter:
    return _built


def _built(name: str) -> Path:
    lock = LOCKS / f"{name}.lock"
    place = home() / "interop" / f"{name}-{address(lock.read_bytes())}"
    python = place / "bin" / "python"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f".{place.name}.lock").open("w") as builder:
        fcntl.flock(builder, fcntl.LOCK_EX)
        if not python.exists():
            _build(lock, place)
    return python


def _build(lock: Path, place: Path) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        python = unfinished / "bin" / "python"
        run_uv("venv", "--relocatable", "--allow-existing", "--python", sys.executable, unfinished)
        run_uv("pip", "sync", "--require-hashes", "--python", python, lock)
        shutil.rmtree(place, ignore_errors=True)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
