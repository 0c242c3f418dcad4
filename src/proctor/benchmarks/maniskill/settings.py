"""What a ManiSkill version says under `settings`, and what this family makes of the rest of a definition."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from proctor.benchmarks.definition import RenderProfile, TaskDefinition
from proctor.benchmarks.family import settings_or_fault
from proctor.benchmarks.maniskill.tasks import TASKS
from proctor.errors import BenchmarkFault, UnknownNameError

REFERENCE: Final = RenderProfile("reference", shadows=False, multisamples=0, reflections=False)
"""Upstream's pictures: its rasteriser without shadows. This family makes no others."""


class TaskSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task."""

    environment: str
    """Upstream's id, such as `PickCube-v1`."""
    robot: Literal["panda", "panda_wristcam"]
    """`panda_wristcam` has the camera `hand_camera`, and another mass on its hand."""


def task_settings_of(task: TaskDefinition) -> TaskSettings:
    """Raises `BenchmarkFault` naming the field at fault, and the nearest task for one that is not known."""
    settings = settings_or_fault(task.settings, TaskSettings, f"task {task.id}, settings")
    if settings.environment not in TASKS:
        refusal = UnknownNameError(f"task {task.id}: ManiSkill environment", settings.environment, TASKS)
        raise BenchmarkFault(str(refusal))
    return settings
