"""Frames of a MuJoCo model, one context for all cameras, made when they are asked for and never otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks.definition import FeatureDefinition, RenderProfile
from proctor.benchmarks.rendering import set_multisamples, set_scene_flags
from proctor.errors import EnvironmentMissing, UnknownNameError, UsageError, text_of

Frame = NDArray[np.uint8]

_TURNS: dict[str, Callable[[Frame], Frame]] = {
    "upright": lambda frame: frame,
    "rotated-180": lambda frame: frame[::-1, ::-1],
    "flipped-vertical": lambda frame: frame[::-1],
}


@dataclass(frozen=True)
class View:
    """How upstream looks at its scene and lays a frame out, before anybody turns it."""

    hidden_groups: tuple[int, ...] = ()
    """Groups of geometries that it does not draw, beside those that MuJoCo hides."""
    first_row: Literal["top", "bottom"] = "top"
    """Which row of the picture comes first in upstream's own array."""


MUJOCO_VIEW: Final = View()
"""MuJoCo's own renderer: all that it shows, the top row first."""

ROBOSUITE_VIEW: Final = View(hidden_groups=(0,), first_row="bottom")
"""robosuite hides the meshes that collide, and hands frames out from the bottom row upwards."""

_IN_CONTEXT: Final = (
    "mesh_",
    "tex_",
    "hfield_",
    "skin_",
    "flex_",
    "mat_",
    "geom_type",
    "geom_dataid",
    "geom_matid",
)
"""Prefixes of the model arrays that a render context is made from, beside the planes."""
_SETTINGS_IN_CONTEXT: Final = ("global_", "quality", "map", "scale", "rgba")
"""Parts of `MjModel.vis` that a render context is made with."""


class Frames:
    """Renders the image features of one lane.

    The context is made at the first frame, and made current before it is freed: a context freed while another
    one is current deletes the other one's textures, which shows as wrong frames and no error.
    """

    def __init__(
        self,
        model: Any,
        features: Iterable[FeatureDefinition],
        profile: RenderProfile,
        view: View = MUJOCO_VIEW,
    ) -> None:
        self._profile, self._view = profile, view
        self._features = {feature.name: feature for feature in features if feature.kind == "image"}
        for feature in self._features.values():
            _check(model, feature)
        self._prepare(model)
        self._model = model
        self._context: _Context | None = None

    def show(self, model: Any) -> None:
        """Go on with another model, of the same cameras.

        The context is kept where it would be made from the same: the model may differ in where things are
        and how large, but not in meshes and textures.
        """
        if model is self._model:
            return
        self._prepare(model)
        self._model = model
        if self._context is not None and not self._context.take(model):
            self.close()

    def _prepare(self, model: Any) -> None:
        """Everything that must be set before a context is made."""
        height, width = (
            max((f.shape[axis] for f in self._features.values() if f.shape), default=1) for axis in (0, 1)
        )
        model.vis.global_.offheight = max(model.vis.global_.offheight, height)
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
        set_multisamples(model, self._profile)

    def render(self, data: Any, name: str) -> Frame:
        """Make the frame of one feature: (height, width, 3) uint8, turned as the feature says. A copy.

        Raises `EnvironmentMissing` where this machine makes no OpenGL context.
        """
        if self._context is None:
            self._context = _Context(self._model, self._profile, self._view)
        feature = self._features[name]
        height, width, _ = feature.shape or (0, 0, 0)
        frame = self._context.render(data, self._model.camera(feature.camera).id, height, width)
        return np.ascontiguousarray(_TURNS[feature.orientation or "upright"](frame))

    def close(self) -> None:
        """Free the context. Idempotent."""
        if self._context is not None:
            self._context.free()
            self._context = None


class _Context:
    def __init__(self, model: Any, profile: RenderProfile, view: View) -> None:
        self._view, self._profile = view, profile
        self._made_from = _made_from(model)
        self._gl, self._context = _open(model)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._look_at(model)
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        for group in view.hidden_groups:
            self._option.geomgroup[group] = 0
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED

    def take(self, model: Any) -> bool:
        """Go on with this model; returns False, and changes nothing, where it needs another context."""
        same = all(map(np.array_equal, self._made_from, _made_from(model)))
        if same:
            self._look_at(model)
        return same

    def _look_at(self, model: Any) -> None:
        self._model = model
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        set_scene_flags(self._scene, self._profile)

    def render(self, data: Any, camera: int, height: int, width: int) -> Frame:
        self._gl.make_current()
        self._camera.fixedcamid = camera
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(self._model, data, self._option, None, self._camera, everything, self._scene)
        rectangle = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(rectangle, self._scene, self._context)
        pixels = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, rectangle, self._context)
        # OpenGL counts rows from the bottom.
        return pixels[::-1] if self._view.first_row == "top" else pixels

    def free(self) -> None:
        self._gl.make_current()
        self._context.free()
        self._gl.free()


def _open(model: Any) -> tuple[Any, Any]:
    """An OpenGL context, made current, and MuJoCo's within it.

    Raises `EnvironmentMissing`, whatever kind of error MuJoCo has for it, where this machine makes none.
    """
    try:
        gl = mujoco.GLContext(model.vis.global_.offwidth, model.vis.global_.offheight)
        gl.make_current()
        return gl, mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150.value)
    except Exception as error:
        raise EnvironmentMissing(
            f"MuJoCo makes no OpenGL context here, with MUJOCO_GL={os.environ.get('MUJOCO_GL', '(unset)')} "
            f"({type(error).__name__}: {text_of(error)}); unset it, so that one that works is chosen"
        ) from error


def _made_from(model: Any) -> list[Any]:
    """Everything of a model that a render context is made from."""
    arrays = [getattr(model, name) for name in dir(model) if name.startswith(_IN_CONTEXT)]
    planes = model.geom_size[model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE.value]
    settings = [repr(getattr(model.vis, part)) for part in _SETTINGS_IN_CONTEXT]
    return [*arrays, planes, model.stat.extent, *settings]


def _check(model: Any, feature: FeatureDefinition) -> None:
    names = [model.camera(number).name for number in range(model.ncam)]
    if feature.camera is None:
        raise UsageError(f"feature {feature.name}: names no camera; valid: {', '.join(names)}")
    if feature.camera not in names:
        raise UnknownNameError(f"camera of {feature.name}", feature.camera, names)
