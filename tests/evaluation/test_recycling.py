from __future__ import annotations

import json
import subprocess
import sys

import pytest

from proctor.evaluation.recycling import (
    CONFIGURATION_FD,
    Growth,
    inherited_configuration,
    resident_bytes,
)


def test_growth_is_counted_from_the_first_look() -> None:
    growth = Growth(limit=64 << 20)
    assert not growth.excessive()
    ballast = bytearray(b"x") * (96 << 20)
    assert growth.excessive()
    assert len(ballast) == 96 << 20


def test_resident_memory_is_in_bytes() -> None:
    assert 1 << 20 < resident_bytes() < 1 << 40


def test_a_process_started_as_usual_inherits_nothing() -> None:
    assert inherited_configuration() is None


CHILD = f"""
import json, os, sys
from proctor.evaluation.recycling import inherited_configuration, start_anew

line = inherited_configuration()
if line is None:
    start_anew(json.dumps({{"pid": os.getpid()}}).encode())
print(json.dumps([json.loads(line)["pid"], os.getpid(), sys.argv[1:], "{CONFIGURATION_FD}" in os.environ]))
"""


@pytest.mark.process
def test_a_process_that_starts_anew_keeps_its_id_and_hands_over_its_configuration() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, "argument"], capture_output=True, text=True, timeout=30, check=True
    )
    before, after, arguments, left = json.loads(done.stdout)
    assert (before == after, arguments, left) == (True, ["argument"], False)
