"""The conformance kit, on lanes of both kinds over the stand-in."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from proctor.benchmarks.contract import Environment
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.robocasa.kitchen import Kitchen
from proctor.benchmarks.robocasa.lane import RoboCasaLane
from proctor.benchmarks.robocasa.layouts import Kind
from proctor.benchmarks.version import BenchmarkVersion, draft
from proctor.testing.benchmarks import BenchmarkConformance

from .conftest import definition_of, episodes_of
from .standin import StandIn


class StandInFamily:
    """RoboCasa's lanes without RoboCasa."""

    name = "robocasa"

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def open(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> Environment:
        return RoboCasaLane(definition, task, action, Kitchen(StandIn(self._kind)))

    def packages(self) -> Mapping[str, str]:
        return definition_of(self._kind).packages


def _version(kind: Kind) -> BenchmarkVersion:
    definition = definition_of(kind)
    task = definition.tasks[0]
    return draft(replace(definition, tasks=(task,), suites={"default": (task.id,)}), episodes_of(kind))


class TestStandInTabletop(BenchmarkConformance):
    def version(self) -> BenchmarkVersion:
        return _version("gr1")

    def family(self) -> StandInFamily:
        return StandInFamily("gr1")


class TestStandInKitchen(BenchmarkConformance):
    def version(self) -> BenchmarkVersion:
        return _version("365")

    def family(self) -> StandInFamily:
        return StandInFamily("365")
