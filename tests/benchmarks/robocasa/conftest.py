"""Lanes over the stand-in, and episodes that are recorded from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.robocasa.kitchen import Kitchen
from proctor.benchmarks.robocasa.lane import RoboCasaLane
from proctor.benchmarks.robocasa.layouts import Kind
from proctor.benchmarks.robocasa.manifest import recorded

from .standin import StandIn

VERSIONS: dict[Kind, Any] = {
    "gr1": find_version("robocasa-gr1-v1"),
    "365": find_version("robocasa365-v1"),
}
Make = Callable[..., tuple[RoboCasaLane, StandIn]]


def definition_of(kind: Kind) -> BenchmarkDefinition:
    definition: BenchmarkDefinition = VERSIONS[kind].definition
    return definition


def episodes_of(kind: Kind, count: int = 3) -> list[Episode]:
    """The first episodes of the first task, as the stand-in makes them."""
    version = VERSIONS[kind]
    first = [e for e in version.episodes if e.task == version.definition.tasks[0].id][:count]
    return list(recorded(version.definition, first, lambda *_: Kitchen(StandIn(kind))))


@pytest.fixture
def make() -> Make:
    """Opens a lane over a new stand-in; keywords go to the stand-in."""

    def open_lane(kind: Kind, **words: Any) -> tuple[RoboCasaLane, StandIn]:
        definition, made = definition_of(kind), StandIn(kind, **words)
        return RoboCasaLane(definition, definition.tasks[0], definition.actions[0], Kitchen(made)), made

    return open_lane
