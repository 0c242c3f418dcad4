"""The tabletop itself, where its checkout, its assets and its environment are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from proctor.launch import environments, graphics
from proctor.launch.environment_check import check

pytestmark = pytest.mark.sims

HERE = Path(__file__).parent


def probe(arguments: str) -> Any:
    """What `simulator_probe.py` prints. Skips, with the reason, where the tabletop is not complete."""
    faults = [finding for finding in check("robocasa-gr1") if not finding.ok]
    if faults:
        pytest.skip(f"RoboCasa's tabletop is not here: {faults[0].what}: {faults[0].detail}")
    source = HERE.parents[2] / "src"
    environ = {**os.environ, "PYTHONPATH": str(source), "MUJOCO_GL": graphics.choose().backend}
    command = [environments.interpreter("robocasa-gr1"), HERE / "simulator_probe.py", *arguments.split()]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_seen_in_chunks_is_what_upstream_sees_at_every_step() -> None:
    assert probe("4 5") == probe("1 5")


def test_an_episode_is_that_of_a_new_process_whatever_was_before() -> None:
    assert probe("4 6 5") == probe("4 5")


def test_another_seed_is_another_start() -> None:
    assert probe("4 6")[1] != probe("4 5")[1]
