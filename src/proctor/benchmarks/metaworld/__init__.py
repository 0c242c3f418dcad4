"""Meta-World: a Sawyer arm at a table, fifty manipulation tasks.

Importing this imports no simulator.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from proctor.benchmarks.contract import Environment, Family
from proctor.benchmarks.definition import BenchmarkDefinition, TaskDefinition
from proctor.errors import EnvironmentMissing

_PACKAGES: Final = ("metaworld", "mujoco", "gymnasium", "numpy")


class MetaworldFamily:
    """Makes Meta-World lanes. Task ids are upstream's names, such as `reach-v3`."""

    name = "metaworld"

    def open(self, definition: BenchmarkDefinition, task: TaskDefinition) -> Environment:
        """Make a lane for one task.

        Raises `EnvironmentMissing` naming what is not installed.
        """
        try:
            from proctor.benchmarks.metaworld.environment import MetaworldEnvironment
        except ModuleNotFoundError as error:
            raise EnvironmentMissing(
                f"{error.name} is not installed in this interpreter; "
                f"build the simulator environment with: proctor env build {definition.environment}"
            ) from error
        return MetaworldEnvironment(definition, task)

    def packages(self) -> Mapping[str, str]:
        """Installed versions of the simulator packages; one that is missing is left out."""
        found = {}
        for package in _PACKAGES:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                continue
        return found


FAMILY: Final[Family] = MetaworldFamily()
