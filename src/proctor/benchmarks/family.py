"""A simulator family whose environment is one class in a module that imports the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from proctor.benchmarks.contract import Environment
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.errors import EnvironmentMissing


@dataclass(frozen=True)
class SimulatorFamily:
    """Makes lanes of one environment class, which is imported with its simulator when the first is opened."""

    name: str
    environment: str
    """`module:Class`; called with (BenchmarkDefinition, TaskDefinition, ActionDefinition)."""
    distributions: tuple[str, ...]
    """Installed distributions whose versions are recorded."""

    def open(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> Environment:
        """Make a lane. Raises `EnvironmentMissing` naming what is not installed."""
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

    def packages(self) -> Mapping[str, str]:
        """Installed versions of the distributions; one that is missing is left out."""
        found = {}
        for distribution in self.distributions:
            try:
                found[distribution] = version(distribution)
            except PackageNotFoundError:
                continue
        return found
