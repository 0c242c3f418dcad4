"""A RoboCasa lane in its checkout."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import gymnasium

from proctor.benchmarks import checkouts
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.family import refuse_other_versions
from proctor.benchmarks.robocasa.kitchen import Kitchen
from proctor.benchmarks.robocasa.lane import RoboCasaLane
from proctor.benchmarks.robocasa.layouts import Kind
from proctor.benchmarks.robocasa.registry import read_registry, require_registered
from proctor.benchmarks.robocasa.settings import (
    RECORD,
    VARIABLES,
    Settings,
    settings_of,
    task_settings_of,
)
from proctor.benchmarks.robocasa.tasks import HORIZON
from proctor.errors import BenchmarkFault, EnvironmentMissing, UnknownNameError, text_of

import_module("mujoco")  # a missing simulator is found when this is imported

MODULES: Final[Mapping[Kind, str]] = {
    "gr1": "robocasa.utils.gym_utils",
    "365": "robocasa.wrappers.gym_wrapper",
}
"""Importing them registers the environments."""

ROBOSUITE: Final = Path("third_party/robosuite")
"""Where RoboCasa365's robosuite lies in the checkout."""


class RoboCasaEnvironment(RoboCasaLane):
    """One lane of one task."""

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """Raises `EnvironmentMissing` for a checkout that is absent, at another commit or without assets, and
        for another version of a package; `BenchmarkFault` for a task that the checkout does not know, or
        gives another horizon."""
        super().__init__(definition, task, action, open_kitchen(definition, task))


def open_kitchen(definition: BenchmarkDefinition, task: TaskDefinition) -> Kitchen:
    """Upstream's environment of a task. Raises as `RoboCasaEnvironment`."""
    settings, environment = settings_of(definition), task_settings_of(task).environment
    refuse_other_versions(definition)
    checkout = checkouts.require(definition.environment, VARIABLES[settings.simulator], settings.commit)
    paths = [str(checkout)]
    if settings.simulator == "365":
        require_registered(read_registry(checkout), environment, task.horizon)
        require_robosuite(checkout, settings)
        paths = [str(checkout / ROBOSUITE), *paths]
    elif task.horizon != HORIZON:
        raise BenchmarkFault(f"task {task.id}: {task.horizon} steps; upstream allows {HORIZON}")
    sys.path[:0] = [path for path in paths if path not in sys.path]
    _import(MODULES[settings.simulator], definition.environment)
    return Kitchen(_make(environment, settings, definition.environment))


def require_robosuite(checkout: Path, settings: Settings) -> None:
    """Raise for a robosuite checkout that is missing, not recorded, or not the recorded one."""
    found = checkouts.commit_of(checkout / ROBOSUITE)
    if settings.robosuite is None:
        raise BenchmarkFault(
            f"settings.robosuite: upstream asks for robosuite's master and names no commit, and none is"
            f" recorded; here is {found or 'none'}; record the one that you have: {RECORD}"
        )
    if found != settings.robosuite:
        raise EnvironmentMissing(
            f"{checkout / ROBOSUITE} is at commit {found or '(unknown)'}, this benchmark is defined on"
            f" {settings.robosuite}; run: proctor env check robocasa365"
        )


def _import(module: str, name: str) -> None:
    try:
        import_module(module)
    except (ImportError, FileNotFoundError) as error:
        raise EnvironmentMissing(
            f"importing {module} raised {type(error).__name__}: {text_of(error)}; "
            f"run: proctor env check {name}"
        ) from error


def _make(environment: str, settings: Settings, name: str) -> Any:
    words: dict[str, Any] = {} if settings.split is None else {"split": settings.split}
    try:
        return gymnasium.make(environment, disable_env_checker=True, enable_render=True, **words).unwrapped
    except gymnasium.error.UnregisteredEnv:
        known = [each for each in gymnasium.registry if "/" in each]
        raise BenchmarkFault(str(UnknownNameError("RoboCasa environment", environment, known))) from None
    except FileNotFoundError as error:
        raise EnvironmentMissing(f"{error}; run: proctor env check {name}") from error
