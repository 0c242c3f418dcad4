"""What a LIBERO-plus version says under `settings`, for all tasks, for one task and for one episode."""

from __future__ import annotations

from typing import Literal

import msgspec

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.family import settings_or_fault
from proctor.benchmarks.libero_plus.variants import Dimension


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version."""

    success_while_settling: Literal["counts", "is ignored"]
    """`counts`: a goal that holds after any settling step is a success, without a step of the policy."""


class TaskSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task of LIBERO under one dimension."""

    suite: str
    """Upstream's directory, such as `libero_spatial`."""
    name: str
    """Name of LIBERO's task, which upstream's names of its variants begin with."""
    dimension: Dimension


class EpisodeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which variant."""

    variant: str
    """What follows the task's name in upstream's: see `variants`."""


def settings_of(definition: BenchmarkDefinition) -> Settings:
    """Raises `BenchmarkFault` naming the field at fault."""
    return settings_or_fault(definition.settings, Settings, f"{definition.id}, settings")


def task_settings_of(task: TaskDefinition) -> TaskSettings:
    """Raises `BenchmarkFault` naming the field at fault."""
    return settings_or_fault(task.settings, TaskSettings, f"task {task.id}, settings")


def episode_settings_of(episode: Episode) -> EpisodeSettings:
    """Raises `BenchmarkFault` naming the field at fault."""
    return settings_or_fault(episode.settings, EpisodeSettings, f"episode {episode.id}, settings")
