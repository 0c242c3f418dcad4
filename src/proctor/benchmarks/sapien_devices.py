"""On what SAPIEN renders, and how it says that there is nothing; for every family built on it."""

from __future__ import annotations

import re
from typing import Final

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
