"""Looks from the tests into the simulator's own interpreter."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.launch import environments, graphics

HERE = Path(__file__).parent

Probe = Callable[[str], Any]


@pytest.fixture(scope="session")
def probe() -> Probe:
    """What a function of `simulator_probe.py` finds in the simulator's interpreter, given its arguments."""
    source = HERE.parents[2] / "src"
    environ = {**os.environ, "PYTHONPATH": str(source), "MUJOCO_GL": graphics.choose().backend}

    def find(name: str) -> Any:
        command = [environments.interpreter("robosuite"), HERE / "simulator_probe.py", *name.split()]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=1800, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return find
