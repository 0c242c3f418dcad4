"""How a render profile is applied to a MuJoCo model and scene, and how SAPIEN says that it cannot render.

The functions take the simulator's own objects; importing this module imports no simulator.
"""

from __future__ import annotations

import re
from typing import Any, Final

from proctor.benchmarks.definition import RenderProfile

NO_VULKAN_DEVICE: Final = ("vk::", "rendering device", "supported physical device")
"""What SAPIEN says where Vulkan offers it nothing."""

_DEVICE: Final = re.compile(
    r"^GPU: (.+)\n\s+Supported:\s*(\d)\n(?:\s+.*\n)*?\s+cudaId:\s*(-?\d+)", re.MULTILINE
)
"""One device in SAPIEN's summary: its name, whether it can be rendered on, its CUDA number or -1."""


def finds_no_vulkan_device(error: BaseException) -> bool:
    """Whether SAPIEN raised this because it has nothing to render on."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in NO_VULKAN_DEVICE)


def sapiens_device(summary: str, cuda_id: int | None) -> str:
    """What SAPIEN renders on, by its summary of devices: the one of that CUDA number, or the first."""
    for name, supported, cuda in _DEVICE.findall(summary):
        if supported == "1" and cuda_id in (None, int(cuda)):
            return str(name)
    return "unknown device"


def set_multisamples(model: Any, profile: RenderProfile) -> None:
    """Set the samples per pixel of offscreen frames. Must come before the model's first render context."""
    model.vis.quality.offsamples = profile.multisamples


def set_scene_flags(scene: Any, profile: RenderProfile) -> None:
    """Turn shadows and reflections of an `MjvScene` on or off. Lasts as long as the scene."""
    from mujoco import mjtRndFlag

    scene.flags[mjtRndFlag.mjRND_SHADOW] = profile.shadows
    scene.flags[mjtRndFlag.mjRND_REFLECTION] = profile.reflections
