"""Render profiles as MuJoCo settings."""

from __future__ import annotations

from types import SimpleNamespace

from proctor.benchmarks.definition import RenderProfile
from proctor.benchmarks.rendering import finds_no_vulkan_device, set_multisamples


def test_a_profile_sets_the_samples_of_offscreen_frames_only() -> None:
    quality = SimpleNamespace(offsamples=4, shadowsize=4096)
    model = SimpleNamespace(vis=SimpleNamespace(quality=quality))
    set_multisamples(model, RenderProfile("fast", shadows=False, multisamples=0))
    assert vars(quality) == {"offsamples": 0, "shadowsize": 4096}


def test_nothing_to_render_on_is_known_by_what_sapien_says() -> None:
    assert finds_no_vulkan_device(RuntimeError("failed to find a rendering device"))
    assert finds_no_vulkan_device(RuntimeError("vk::createInstanceUnique: ErrorIncompatibleDriver"))
    assert not finds_no_vulkan_device(RuntimeError("contact solver exploded"))
    assert not finds_no_vulkan_device(ValueError("no such rendering device"))
