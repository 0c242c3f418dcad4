"""Versions to try things on, and a way into the simulators' own interpreters."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import proctor
from proctor.benchmarks.version import BenchmarkVersion
from proctor.launch import environments, graphics
from proctor.testing.toy_versions import write_toy_version

Inside = Callable[..., "subprocess.CompletedProcess[str]"]

PACKAGE = Path(proctor.__file__).parent


@pytest.fixture
def toy(tmp_path: Path) -> BenchmarkVersion:
    """A draft on disk, two tasks of three episodes."""
    return write_toy_version(tmp_path, ("reach", "park"), episodes=3)


@pytest.fixture(scope="session")
def inside_metaworld() -> Inside:
    """Runs `_bootstrap.py ARGUMENTS` in Meta-World's interpreter, where pytest is not installed.

    PROCTOR_TEST_METAWORLD_PYTHON names another interpreter than that of the built environment.
    """
    named = os.environ.get("PROCTOR_TEST_METAWORLD_PYTHON")
    python = Path(named) if named else environments.interpreter("metaworld")

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "MUJOCO_GL": graphics.choose().backend}
        command = [python, PACKAGE / "_bootstrap.py", *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)

    return run
