"""A family imports its simulator when a lane is opened, not before, and names what is missing."""

from __future__ import annotations

import pytest

from proctor.benchmarks.family import SimulatorFamily
from proctor.errors import EnvironmentMissing
from proctor.testing.toy_versions import toy_definition

DEFINITION = toy_definition(["reach"])


def family(environment: str, *distributions: str) -> SimulatorFamily:
    return SimulatorFamily("toy", environment, distributions)


def test_open_makes_a_lane_of_the_named_class() -> None:
    lane = family("proctor.testing.toy:ToyEnvironment").open(
        DEFINITION, DEFINITION.tasks[0], DEFINITION.actions[0]
    )
    assert type(lane).__name__ == "ToyEnvironment"


def test_a_missing_simulator_is_named_with_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentMissing, match=r"no_such_simulator .* proctor env build host"):
        family("no_such_simulator:Environment").open(DEFINITION, DEFINITION.tasks[0], DEFINITION.actions[0])


def test_packages_are_those_that_are_installed() -> None:
    found = family("proctor.testing.toy:ToyEnvironment", "numpy", "no-such-distribution").packages()
    assert set(found) == {"numpy"}
