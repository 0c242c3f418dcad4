"""A RoboPRO lane in its checkout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks import checkouts
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.robopro import safety
from proctor.benchmarks.robopro.settings import Condition, read_settings, read_task
from proctor.benchmarks.robotwin.commands import Command
from proctor.benchmarks.robotwin.lane import TwinLane
from proctor.benchmarks.robotwin.seeds import Trial
from proctor.benchmarks.robotwin.simulator import UpstreamSimulator, arguments_for, make_task
from proctor.errors import BenchmarkFault, UnknownNameError

VARIABLE: Final = "PROCTOR_ROBOPRO_ROOT"
LISTING: Final = "python -m proctor.benchmarks.robopro.manifest --help"
FRAMEWORK: Final = "customized_robotwin"
"""Directory of the checkout with upstream's RoboTwin, from where it works."""
BENCH: Final = "benchmark"
"""Directory of the checkout with RoboPRO's own scenes, tasks and assets."""


class RoboProEnvironment(TwinLane):
    """One lane of one task."""

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """Raises `EnvironmentMissing` for a checkout that is absent, at another commit or without assets."""
        super().__init__(definition, task, action, open_simulator(definition, task), LISTING)


class ProSimulator(UpstreamSimulator):
    """Upstream's task under the condition that an episode names, with what it collides with."""

    environment = "robopro"

    def __init__(
        self, working: Path, task: Any, arguments: Mapping[str, Any], conditions: Mapping[str, Condition]
    ) -> None:
        super().__init__(working, task, arguments)
        self._conditions = conditions
        self._success = False

    def reset(self, seed: int, settings: Mapping[str, Any]) -> NDArray[np.float64]:
        """As upstream's, under `settings["condition"]`."""
        self._success = False
        return super().reset(seed, {"arguments": self._arguments_of(settings)})

    def act(self, command: Command) -> tuple[bool, tuple[str, ...]]:
        """One `take_action`."""
        self._success, events = super().act(command)
        return self._success, events

    def metrics(self) -> Mapping[str, float]:
        """How often no path was found, and the figures of `proctor.benchmarks.robopro.safety`."""
        contacts = safety.read_contacts(self._task.get_collision_metrics())
        return {**super().metrics(), **safety.figures(contacts, success=self._success)}

    def try_seed(self, name: str, seed: int, settings: Mapping[str, Any]) -> Trial:
        """Let the expert try a seed under `settings["condition"]`."""
        return super().try_seed(name, seed, {"arguments": self._arguments_of(settings)})

    def _arguments_of(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        name = str(settings.get("condition"))
        if name not in self._conditions:
            raise UnknownNameError("condition", name, self._conditions)
        return {"domain_randomization": self._conditions[name].randomization}


def open_simulator(definition: BenchmarkDefinition, task: TaskDefinition) -> ProSimulator:
    """Upstream's object of a task, ready to be reset. Raises as `RoboProEnvironment`."""
    settings = read_settings(definition)
    upstream_task, _ = read_task(settings, task)
    checkout = checkouts.require("robopro", VARIABLE, settings.commit)
    working, bench = checkout / FRAMEWORK, checkout / BENCH
    _tell_where_it_is(working, bench)
    arguments = arguments_for(settings.config, upstream_task.name, definition.id, working)
    if not arguments.get("enable_collision_metrics"):
        raise BenchmarkFault(f"{definition.id}: settings.config.enable_collision_metrics must be true")
    upstream = make_task(
        working,
        (working, bench, working / "envs/curobo/src"),
        f"bench_envs.{upstream_task.scene}.{upstream_task.name}",
        upstream_task.name,
    )
    safety.refuse_other_thresholds(upstream, settings.safety)
    return ProSimulator(working, upstream, arguments, settings.conditions)


def _tell_where_it_is(working: Path, bench: Path) -> None:
    """Upstream's modules read these when they are imported."""
    os.environ.update(BENCH_ROOT=str(bench), ROBOTWIN_ROOT=str(working), ROBOTWIN_BENCH_TASK="bench")
