"""A simulator family whose environment is one class in a module that imports the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from proctor.benchmarks.contract import Environment, Episode
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.errors import BenchmarkFault, EnvironmentMissing


@dataclass(frozen=True)
class SimulatorFamily:
    """Makes lanes of one environment class, which is imported with its simulator when the first is opened."""

    name: str
    environment: str
    """`module:Class`; called with (BenchmarkDefinition, TaskDefinition, ActionDefinition)."""
    distributions: tuple[str, ...]
    """Installed distributions whose versions are recorded."""
    orientations: tuple[str, ...] = ("upright",)
    """Image orientations that the environment can make."""

    def open(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> Environment:
        """Make a lane.

        Raises `EnvironmentMissing` naming what is not installed, `BenchmarkFault` for what the definition
        asks and this family does not do.
        """
        self._refuse_what_it_does_not_do(definition)
        module, _, name = self.environment.partition(":")
        try:
            environment = getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            raise EnvironmentMissing(
                f"{error.name} is not installed in this interpreter; "
                f"build the simulator environment with: proctor env build {definition.environment}"
            ) from error
        lane: Environment = environment(definition, task, action)
        return lane

    def _refuse_what_it_does_not_do(self, definition: BenchmarkDefinition) -> None:
        if definition.settle_steps:
            raise BenchmarkFault(
                f"settle_steps {definition.settle_steps}: family {self.name} starts settled; valid: 0"
            )
        for feature in definition.features:
            if feature.kind == "image" and feature.orientation not in self.orientations:
                valid = ", ".join(self.orientations)
                raise BenchmarkFault(
                    f"feature {feature.name}: orientation {feature.orientation!r}; "
                    f"family {self.name} makes: {valid}"
                )

    def packages(self) -> Mapping[str, str]:
        """Installed versions of the distributions; one that is missing is left out."""
        found = {}
        for distribution in self.distributions:
            try:
                found[distribution] = version(distribution)
            except PackageNotFoundError:
                continue
        return found


def refuse_predicates(episode: Episode) -> None:
    """Raise `BenchmarkFault` for a segment whose goal is not the task's own, where no other is judged."""
    for segment in episode.segments:
        if segment.predicate != "success":
            raise BenchmarkFault(
                f"episode {episode.id}: predicate {segment.predicate!r}; this family judges: success"
            )
