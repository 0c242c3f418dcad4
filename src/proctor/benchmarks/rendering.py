"""How a render profile is applied to a MuJoCo model and scene; the same for every family built on MuJoCo.

The functions take the simulator's own objects; importing this module imports no simulator.
"""

from __future__ import annotations

from typing import Any

from proctor.benchmarks.definition import RenderProfile


def set_multisamples(model: Any, profile: RenderProfile) -> None:
    """Set the samples per pixel of offscreen frames. Must come before the model's first render context."""
    model.vis.quality.offsamples = profile.multisamples


def set_scene_flags(scene: Any, profile: RenderProfile) -> None:
    """Turn shadows and reflections of an `MjvScene` on or off. Lasts as long as the scene."""
    from mujoco import mjtRndFlag

    scene.flags[mjtRndFlag.mjRND_SHADOW] = profile.shadows
    scene.flags[mjtRndFlag.mjRND_REFLECTION] = profile.reflections
