"""What SAPIEN says of its devices."""

from __future__ import annotations

import pytest

from proctor.benchmarks.sapien_devices import finds_no_vulkan_device, sapiens_device

SUMMARY = "".join(
    f"GPU: {name}\n  Supported: {supported}\n  Present:   0\n  cudaId:    {cuda}\n  rayTrace:  1\n\n"
    for name, supported, cuda in (("Old (1)", 0, -1), ("llvmpipe (256 bits)", 1, -1), ("NVIDIA H", 1, 0))
)


def test_nothing_to_render_on_is_known_by_what_sapien_says() -> None:
    assert finds_no_vulkan_device(RuntimeError("failed to find a rendering device"))
    assert finds_no_vulkan_device(RuntimeError("vk::createInstanceUnique: ErrorIncompatibleDriver"))
    assert not finds_no_vulkan_device(RuntimeError("contact solver exploded"))
    assert not finds_no_vulkan_device(ValueError("no such rendering device"))


@pytest.mark.parametrize(
    ("cuda_id", "name"), [(None, "llvmpipe (256 bits)"), (0, "NVIDIA H"), (1, "unknown device")]
)
def test_the_device_is_the_first_that_works_or_that_of_a_cuda_number(cuda_id: int | None, name: str) -> None:
    assert sapiens_device(SUMMARY, cuda_id) == name
