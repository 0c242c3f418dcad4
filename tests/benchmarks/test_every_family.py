"""Every family that a lock makes whole is examined with the conformance kit, and all it holds of frames."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomllib

import proctor
from proctor.benchmarks.registry import FAMILIES
from proctor.launch import environments
from proctor.testing.benchmark_rules import (
    CHECKS,
    begin_is_a_function_of_the_episode,
    frames_are_those_of_a_new_process,
    observation_does_not_depend_on_the_chunk,
)

HERE = Path(__file__).parent
VERSIONS = Path(proctor.__file__).parent / "conf" / "benchmarks"
KIT = re.compile(r"\bexamine\(|\(BenchmarkConformance\)")


def environments_of(family: str) -> set[str]:
    """Those of the versions that come with proctor."""
    definitions = [tomllib.loads(path.read_text()) for path in VERSIONS.glob("*/benchmark.toml")]
    return {each["environment"] for each in definitions if each["family"] == family}


def needs_a_checkout(family: str) -> bool:
    """Whether its simulator is in no package: the kit is `proctor bench check` where it is."""
    found = environments_of(family)
    return bool(found) and all(environments.find(name).source is not None for name in found)


def runs_the_kit(family: str) -> bool:
    """Whether a file of the family's tests does."""
    files = [*HERE.glob(f"{family}_*.py"), *HERE.glob(f"test_{family}*.py"), *HERE.glob(f"{family}/*.py")]
    return any(KIT.search(file.read_text()) for file in files)


@pytest.mark.parametrize("family", sorted(set(FAMILIES.built_in) - {"toy"}))
def test_the_tests_of_a_family_run_the_kit(family: str) -> None:
    assert runs_the_kit(family) or needs_a_checkout(family)


def test_the_kit_holds_frames_against_stale_contexts_chunks_and_what_ran_before() -> None:
    assert {
        begin_is_a_function_of_the_episode,
        frames_are_those_of_a_new_process,
        observation_does_not_depend_on_the_chunk,
    } <= set(CHECKS)
