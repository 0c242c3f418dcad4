"""The pictures of one lane: rendered, turned, cropped about the centre and resized as the version says."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from proctor.benchmarks.definition import BenchmarkDefinition, FeatureDefinition
from proctor.benchmarks.metaworld.settings import CameraSettings, positions_of, settings_of
from proctor.benchmarks.mujoco_frames import Frame, Frames
from proctor.wire.images import resize

QUARTER_TURNS: Final = {"upright": 0, "rotated-90": 1, "rotated-180": 2, "rotated-270": 3}
"""Counter-clockwise, by orientation."""


class Cameras:
    """Every image feature of a lane. Moves the model's cameras: made before the model is kept as it was."""

    def __init__(self, model: Any, definition: BenchmarkDefinition) -> None:
        """Raises `BenchmarkFault` or `UnknownNameError` naming the feature and the value at fault."""
        features = [feature for feature in definition.features if feature.kind == "image"]
        named = settings_of(definition).cameras
        self._features = {feature.name: feature for feature in features}
        self._settings = {name: named.get(name, CameraSettings()) for name in self._features}
        rendered = [_rendered(feature, self._settings[feature.name]) for feature in features]
        self._frames = Frames(model, rendered, definition.render)
        for name, position in positions_of(definition).items():
            model.cam_pos[model.camera(name).id] = position

    def picture(self, data: Any, name: str) -> Frame:
        """One feature as it is now: (height, width, 3) uint8, a copy."""
        feature = self._features[name]
        turned = _turned(self._frames.render(data, name), feature.orientation)
        cropped = center_crop(turned, self._settings[name].center_crop)
        return resize(np.ascontiguousarray(cropped), _size(feature), "stretch")

    def close(self) -> None:
        """Free the render context. Idempotent."""
        self._frames.close()


def center_crop(frame: Frame, ratio: float) -> Frame:
    """The middle `ratio` of each side, in whole pixels rounded down; an odd pixel goes at the end."""
    height, width = (max(1, int(side * ratio)) for side in frame.shape[:2])
    top, left = (frame.shape[0] - height) // 2, (frame.shape[1] - width) // 2
    return frame[top : top + height, left : left + width]


def _turned(frame: Frame, orientation: str | None) -> Frame:
    if orientation == "flipped-vertical":
        return frame[::-1]
    return np.rot90(frame, QUARTER_TURNS[orientation or "upright"])


def _size(feature: FeatureDefinition) -> tuple[int, int]:
    height, width, _ = feature.shape or (0, 0, 0)
    return height, width


def _rendered(feature: FeatureDefinition, settings: CameraSettings) -> FeatureDefinition:
    """The feature as it is before anything is done to it."""
    height, width = _size(feature)
    quarter = QUARTER_TURNS.get(feature.orientation or "upright", 0) % 2 == 1
    size = settings.render or ((width, height) if quarter else (height, width))
    return replace(feature, shape=(*size, 3), orientation="upright")
