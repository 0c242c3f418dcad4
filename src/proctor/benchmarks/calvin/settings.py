"""What a CALVIN version says under `settings`."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from proctor.benchmarks.definition import BenchmarkDefinition, RenderProfile
from proctor.benchmarks.family import settings_or_fault

VARIABLE: Final = "PROCTOR_CALVIN_ROOT"
"""Environment variable that names the checkout of calvin_env."""

REFERENCE: Final = RenderProfile("reference", shadows=False, multisamples=0, reflections=False)
"""What pybullet's renderers do unless told otherwise. This family makes no other pictures."""

Renderer = Literal["egl", "tiny"]
"""`egl`: OpenGL, as upstream evaluates. `tiny`: pybullet's software renderer, which makes other pictures."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version's simulator."""

    commit: str
    """Of calvin_env, 40 hexadecimal digits."""
    scene: Literal["calvin_scene_A", "calvin_scene_B", "calvin_scene_C", "calvin_scene_D"]
    renderer: Renderer


def settings_of(definition: BenchmarkDefinition) -> Settings:
    """Raises `BenchmarkFault` naming the field at fault."""
    return settings_or_fault(definition.settings, Settings, f"{definition.id}, settings")
