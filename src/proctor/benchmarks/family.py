"""A simulator family whose environment is one class in a module that imports the simulator."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from proctor.benchmarks.contract import Environment, Episode
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    RenderProfile,
    TaskDefinition,
)
from proctor.errors import BenchmarkFault, EnvironmentMissing, UsageError, text_of
from proctor.parsing import parse

T = TypeVar("T")


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
    settles: bool = False
    """Whether the environment takes `settle_steps` before it hands out the first observation."""

    def open(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> Environment:
        """Make a lane.

        Raises `EnvironmentMissing` naming what is not installed, of another version than the definition's, or
        cannot be imported; `BenchmarkFault` for what the definition asks and this family does not do.
        """
        if not self.settles:
            refuse_settling(self.name, definition)
        refuse_orientations(self.name, definition, self.orientations)
        environment = self._import_environment(definition)
        refuse_other_versions(definition, f"; {_building(definition)}")
        lane: Environment = environment(definition, task, action)
        return lane

    def _import_environment(self, definition: BenchmarkDefinition) -> Callable[..., Environment]:
        module, _, name = self.environment.partition(":")
        try:
            found: Callable[..., Environment] = getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            raise EnvironmentMissing(
                f"{error.name} is not installed in this interpreter; {_building(definition)}"
            ) from error
        except Exception as error:  # such as a renderer whose libraries are not on this machine
            raise EnvironmentMissing(
                f"the simulator of {self.name} cannot be imported{_renderer()}: "
                f"{type(error).__name__}: {text_of(error)}; run: proctor env check {definition.environment}"
            ) from error
        return found

    def packages(self) -> Mapping[str, str]:
        """Installed versions of the distributions; one that is missing is left out."""
        return installed_versions(self.distributions)


def _building(definition: BenchmarkDefinition) -> str:
    return f"build the simulator environment with: proctor env build {definition.environment}"


def _renderer() -> str:
    """What MuJoCo was told to render with, where it was told."""
    backend = os.environ.get("MUJOCO_GL")
    return f" with MUJOCO_GL={backend}" if backend else ""


def installed_versions(distributions: Iterable[str]) -> dict[str, str]:
    """Versions in this interpreter; a distribution that is missing is left out."""
    found = {}
    for distribution in distributions:
        try:
            found[distribution] = version(distribution)
        except PackageNotFoundError:
            continue
    return found


def refuse_other_versions(definition: BenchmarkDefinition, remedy: str = "") -> None:
    """Raise `EnvironmentMissing`, naming both, for a package of another version than the definition's.

    `remedy` is said of one that is not installed at all.
    """
    found = installed_versions(definition.packages)
    for package, wanted in definition.packages.items():
        if found.get(package) != wanted:
            raise EnvironmentMissing(
                f"{package} is {found.get(package, 'not installed')} in {sys.executable}; "
                f"{definition.id} is defined on {wanted}{'' if package in found else remedy}"
            )


def settings_or_fault(values: object, kind: type[T], where: str) -> T:
    """`proctor.parsing.parse`, for settings that a family reads: raises `BenchmarkFault` in its words."""
    try:
        return parse(values, kind, where)
    except UsageError as error:
        raise BenchmarkFault(str(error)) from None


def refuse_settling(family: str, definition: BenchmarkDefinition) -> None:
    """Raise `BenchmarkFault` for settling steps, in a family that has none."""
    if definition.settle_steps:
        raise BenchmarkFault(
            f"settle_steps {definition.settle_steps}: family {family} starts settled; valid: 0"
        )


def refuse_orientations(family: str, definition: BenchmarkDefinition, orientations: Sequence[str]) -> None:
    """Raise `BenchmarkFault` for an image orientation that is not among these."""
    for feature in definition.features:
        if feature.kind == "image" and feature.orientation not in orientations:
            valid = ", ".join(orientations)
            raise BenchmarkFault(
                f"feature {feature.name}: orientation {feature.orientation!r}; family {family} makes: {valid}"
            )


def refuse_other_pictures(definition: BenchmarkDefinition, made: RenderProfile) -> None:
    """Raise `BenchmarkFault` for another render profile than the one that a family makes."""
    if definition.render != made:
        raise BenchmarkFault(
            f"render {definition.render}: family {definition.family} makes upstream's pictures only, {made}"
        )


def refuse_predicates(episode: Episode) -> None:
    """Raise `BenchmarkFault` for a segment whose goal is not the task's own, where no other is judged."""
    for segment in episode.segments:
        if segment.predicate != "success":
            raise BenchmarkFault(
                f"episode {episode.id}: predicate {segment.predicate!r}; this family judges: success"
            )
