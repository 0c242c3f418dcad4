"""What a Meta-World version says under `settings`, for all tasks and for one episode."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.benchmarks.family import settings_or_fault
from proctor.errors import BenchmarkFault, UnknownNameError

SMALLEST: Final = 64
LARGEST: Final = 1024
"""Pixels along a side that a frame may have, rendered or handed out."""


Position = tuple[float, float, float]
"""x, y, z in metres, in the frame of the body that a camera hangs on."""


class CameraSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the frames of one image feature are made. Its camera, turn and final size are the feature's own.

    A frame is rendered, turned as the feature's orientation says, cropped about its centre, then resized.
    """

    render: tuple[int, int] | None = None
    """Height and width that are rendered; without it those of the feature, swapped by a quarter turn."""
    position: Position | None = None
    """Where the camera is put; without it where it is."""
    center_crop: float = 1.0
    """Share of each side of the turned frame that is kept: above 0, at most 1."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version."""

    cameras: dict[str, CameraSettings] = {}
    """By image feature; those that are not named are rendered at their own size."""


class EpisodeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One episode."""

    random_vector: tuple[float, ...] | None = None
    """What upstream places objects and goal by; without it upstream draws it, by the episode's seed."""


def settings_of(definition: BenchmarkDefinition) -> Settings:
    """Raises `BenchmarkFault` naming the field at fault, `UnknownNameError` for an image there is not."""
    where = f"{definition.id}, settings"
    settings = settings_or_fault(definition.settings, Settings, where)
    images = {feature.name: feature for feature in definition.features if feature.kind == "image"}
    for name, feature in images.items():
        _check_size(f"feature {name}: shape", (feature.shape or ())[:2])
    for name, camera in settings.cameras.items():
        if name not in images:
            raise UnknownNameError(f"image feature in {where}.cameras", name, images)
        _check(f"{where}.cameras.{name}", camera)
    return settings


def positions_of(definition: BenchmarkDefinition) -> dict[str, Position]:
    """Where to put which of the model's cameras.

    Raises as `settings_of` does, and `BenchmarkFault` where two features want one camera in two places.
    """
    cameras = settings_of(definition).cameras
    wanted: dict[str | None, tuple[str, Position | None]] = {}
    for feature in definition.features:
        if feature.kind == "image":
            position = cameras.get(feature.name, CameraSettings()).position
            first, before = wanted.setdefault(feature.camera, (feature.name, position))
            if position != before:
                raise BenchmarkFault(
                    f"{definition.id}, settings.cameras: {first} has camera {feature.camera} at position"
                    f" {before}, {feature.name} at {position}; one camera is in one place"
                )
    return {str(camera): position for camera, (_, position) in wanted.items() if position is not None}


def episode_settings_of(episode: Episode) -> EpisodeSettings:
    """Raises `BenchmarkFault` naming the field at fault."""
    return settings_or_fault(episode.settings, EpisodeSettings, f"episode {episode.id}, settings")


def _check(where: str, camera: CameraSettings) -> None:
    if camera.render is not None:
        _check_size(f"{where}: render", camera.render)
    if not all(map(math.isfinite, camera.position or ())):
        raise BenchmarkFault(f"{where}: position {camera.position}; valid: three finite numbers, in metres")
    if not 0 < camera.center_crop <= 1:
        raise BenchmarkFault(f"{where}: center_crop {camera.center_crop}; valid: above 0, at most 1")


def _check_size(where: str, size: tuple[int, ...]) -> None:
    if not all(SMALLEST <= side <= LARGEST for side in size):
        shown = " × ".join(map(str, size))
        raise BenchmarkFault(f"{where} {shown} pixels; valid: {SMALLEST} to {LARGEST} along each side")
