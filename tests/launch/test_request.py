"""A request is data: making one needs nothing of what carries it out."""

from __future__ import annotations

import subprocess
import sys

import proctor.launch


def test_a_request_needs_nothing_of_what_carries_it_out() -> None:
    script = (
        "import sys, proctor.launch.request\n"
        "print([name for name in sys.modules if name in"
        " ('proctor.launch.local', 'proctor.launch.planning', 'proctor.coordinator.store')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_package_has_both_names() -> None:
    assert proctor.launch.evaluate.__module__ == "proctor.launch.evaluation"
    assert proctor.launch.EvaluationRequest.__module__ == "proctor.launch.request"
