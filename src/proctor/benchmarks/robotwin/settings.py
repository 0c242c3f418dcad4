"""What a version's `settings` say to this family: which checkout, how upstream is configured, which seeds."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import BenchmarkDefinition, RenderProfile
from proctor.errors import BenchmarkFault
from proctor.parsing import parse

Pool = Literal["seen", "unseen"]

REFERENCE: Final = RenderProfile("reference", shadows=True, multisamples=32, reflections=True)
"""Upstream's pictures: traced rays, 32 per pixel, at most 8 reflections, denoised."""

SCORABLE: Final = ("expert", "upstream-list")
"""Where an episode's seed may come from: a scripted expert that succeeded with it here, or a list that
upstream froze. A `candidate` was tried by nobody."""


class TwinSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `settings` of a RoboTwin version."""

    commit: str
    """Of the source checkout."""
    task_config: str
    """Upstream's name for this configuration."""
    instructions: Pool
    """Which of upstream's pools an episode's sentence is drawn from."""
    candidate_start: Annotated[int, msgspec.Meta(ge=0)]
    """The first seed that the expert tries; it goes up by one."""
    seeds_per_task: Annotated[int, msgspec.Meta(ge=1)]
    config: dict[str, Any]
    """What upstream reads from its configuration file, complete."""


def read_settings(definition: BenchmarkDefinition) -> TwinSettings:
    """The settings of a definition. Raises `UsageError`, `UnknownNameError` for what is no such setting."""
    return parse(definition.settings, TwinSettings, f"{definition.id}, settings")


def refuse_candidates(episode: Episode, command: str) -> None:
    """Raise `BenchmarkFault` for an episode whose seed nobody has tried; `command` makes the list."""
    origin = episode.settings.get("seeds", "candidate")
    if origin not in SCORABLE:
        raise BenchmarkFault(
            f"episode {episode.id}: seed {episode.seed} is a {origin}, which no expert has tried, so nobody"
            f" knows whether it can be done; make the list of seeds first: {command}"
        )
