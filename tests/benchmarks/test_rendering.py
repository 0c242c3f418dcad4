"""Render profiles as MuJoCo settings."""

from __future__ import annotations

from types import SimpleNamespace

from proctor.benchmarks.definition import RenderProfile
from proctor.benchmarks.rendering import set_multisamples


def test_a_profile_sets_the_samples_of_offscreen_frames_only() -> None:
    quality = SimpleNamespace(offsamples=4, shadowsize=4096)
    model = SimpleNamespace(vis=SimpleNamespace(quality=quality))
    set_multisamples(model, RenderProfile("fast", shadows=False, multisamples=0))
    assert vars(quality) == {"offsamples": 0, "shadowsize": 4096}
