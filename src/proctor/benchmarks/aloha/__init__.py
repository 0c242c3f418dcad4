"""gym-aloha: two ViperX arms at a table, a cube to hand over or a peg to insert.

Importing this imports no simulator.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from proctor.benchmarks.contract import Environment, Family
from proctor.benchmarks.definition import BenchmarkDefinition, TaskDefinition
from proctor.errors import EnvironmentMissing

_PACKAGES: Final = ("gym-aloha", "mujoco", "dm-control")


class AlohaFamily:
    """Makes gym-aloha lanes. One lane per process: the simulator keeps object poses in a module global."""

    name = "aloha"

    def open(self, definition: BenchmarkDefinition, task: TaskDefinition) -> Environment:
        """Make a lane for one task. `task.settings["scene"]` names the scene, `transfer_cube` or `insertion`.

        Raises `EnvironmentMissing` naming what is not installed.
        """
        try:
            from proctor.benchmarks.aloha.environment import AlohaEnvironment
        except ModuleNotFoundError as error:
            raise EnvironmentMissing(
                f"{error.name} is not installed in this interpreter; "
                f"build the simulator environment with: proctor env build {definition.environment}"
            ) from error
        return AlohaEnvironment(definition, task)

    def packages(self) -> Mapping[str, str]:
        """Installed versions of the simulator packages; one that is missing is left out."""
        found = {}
        for package in _PACKAGES:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                continue
        return found


FAMILY: Final[Family] = AlohaFamily()
