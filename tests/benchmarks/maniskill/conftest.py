"""Looks from the tests into the simulator's own interpreter, where there is one."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import EnvironmentMissing
from proctor.launch import environments, vulkan

HERE = Path(__file__).parent

Probe = Callable[[str], Any]
Turn = Callable[[], AbstractContextManager[None]]


@pytest.fixture(scope="session")
def turn(tmp_path_factory: pytest.TempPathFactory) -> Turn:
    """The right to run a simulator, one test process at a time. Skips, with the reason, where none can."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    if missing := _missing():
        pytest.skip(f"ManiSkill is not here: {missing}")

    @contextmanager
    def take() -> Iterator[None]:
        with (shared / "maniskill.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    return take


def _missing() -> str:
    if not environments.is_built(environments.find("maniskill")):
        return "run: proctor env build maniskill"
    try:
        vulkan.require()
    except EnvironmentMissing as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def probe(turn: Turn) -> Probe:
    """What a function of `simulator_probe.py` finds in the simulator's interpreter, given its arguments."""

    def find(name: str) -> Any:
        with turn():
            return json.loads(_run_probe(name))

    return find


def _run_probe(name: str) -> str:
    """The last line it prints: upstream prints others."""
    environ = {**os.environ, "PYTHONPATH": str(HERE.parents[2] / "src"), "OMP_NUM_THREADS": "1"}
    command = [environments.interpreter("maniskill"), HERE / "simulator_probe.py", *name.split()]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]
