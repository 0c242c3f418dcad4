"""What a RoboCasa version says under `settings`, for all tasks, for one task and for one episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import BenchmarkDefinition, RenderProfile, TaskDefinition
from proctor.benchmarks.family import settings_or_fault
from proctor.benchmarks.robocasa.layouts import Kind
from proctor.errors import BenchmarkFault

REFERENCE: Final = RenderProfile("reference", shadows=True, multisamples=4, reflections=True)
"""Upstream's pictures: MuJoCo's own settings. This family makes no others."""

VARIABLES: Final[Mapping[Kind, str]] = {
    "gr1": "PROCTOR_ROBOCASA_GR1_ROOT",
    "365": "PROCTOR_ROBOCASA365_ROOT",
}
"""Environment variables that name the checkouts."""

RECORD: Final = "python -m proctor.benchmarks.robocasa.manifest --help"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version's simulator."""

    simulator: Kind
    commit: str
    """Of its checkout, 40 hexadecimal digits."""
    success_every: Annotated[int, msgspec.Meta(ge=1)]
    """The goal is looked at after every so many steps, and at no others."""
    split: str | None = None
    """Upstream's kitchens and objects; None for the tabletop, which has one set."""
    robosuite: str | None = None
    """Commit of the robosuite checkout, where that is no package. None: nobody recorded one yet."""


class TaskSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task."""

    environment: str
    """Upstream's id under which Gymnasium makes it."""


class EpisodeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One episode."""

    sentence: str | None = None
    """What upstream says of the objects that the seed drew; None: nobody has recorded it."""


def settings_of(definition: BenchmarkDefinition) -> Settings:
    """Raises `BenchmarkFault` naming the field at fault."""
    return settings_or_fault(definition.settings, Settings, f"{definition.id}, settings")


def task_settings_of(task: TaskDefinition) -> TaskSettings:
    """Raises `BenchmarkFault` naming the field at fault."""
    return settings_or_fault(task.settings, TaskSettings, f"task {task.id}, settings")


def sentence_of(episode: Episode) -> str:
    """What upstream was recorded to say. Raises `BenchmarkFault` for an episode that nobody has made."""
    settings = settings_or_fault(episode.settings, EpisodeSettings, f"episode {episode.id}, settings")
    if settings.sentence is None:
        raise BenchmarkFault(
            f"episode {episode.id}: upstream draws objects and sentence from seed {episode.seed}, and nobody"
            f" has recorded them; make the list of episodes first: {RECORD}"
        )
    return settings.sentence
