"""A process that is started again is said at once and kept for the report."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from proctor.launch.incidents import Incidents
from proctor.launch.supervisor import Child, Order, wait_for_news


@pytest.mark.process
def test_a_restart_is_said_and_kept(tmp_path: Path) -> None:
    order = Order(
        name="worker-3",
        command=[sys.executable, "-c", "raise SystemExit(7)"],
        log=tmp_path / "logs" / "worker-3.log",
        environment={},
        announces=False,
    )
    child = Child(order)
    while child.running:
        wait_for_news([child], 1.0)
    said: list[str] = []
    incidents = Incidents(said.append)
    incidents.restarted(child)
    assert said == ["worker-3 ended (exit status 7) and is started again; log: logs/worker-3.log"]
    (incident,) = incidents.all
    assert (incident.process, incident.how, incident.log) == (
        "worker-3",
        "exit status 7",
        "logs/worker-3.log",
    )
    assert incident.at.endswith("+00:00")
