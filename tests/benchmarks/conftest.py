"""Versions to try things on."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.benchmarks.version import BenchmarkVersion
from proctor.testing.toy_versions import write_toy_version


@pytest.fixture
def toy(tmp_path: Path) -> BenchmarkVersion:
    """A draft on disk, two tasks of three episodes."""
    return write_toy_version(tmp_path, ("reach", "park"), episodes=3)
