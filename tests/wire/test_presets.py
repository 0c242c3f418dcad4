"""Presets: the keys that servers were trained on, and benchmarks that they fit."""

from __future__ import annotations

import pytest

from proctor.errors import UnknownNameError, UsageError
from proctor.policy import ActionSpec, BenchmarkSpec, FeatureKind, FeatureSpec, get_benchmark_spec
from proctor.wire.mapper import Mapper
from proctor.wire.paths import build
from proctor.wire.presets import PRESETS

TWO_ARMS = BenchmarkSpec(
    name="aloha",
    suite="all",
    protocol_version="aloha-v1",
    features=(
        *(
            FeatureSpec(f"images.{camera}", FeatureKind.IMAGE, False, dtype="uint8", shape=(480, 640, 3))
            for camera in ("top", "angle", "front_close")
        ),
        FeatureSpec("state.joints", FeatureKind.STATE, dtype="float32", shape=(14,)),
        FeatureSpec("state.ee_rot6d", FeatureKind.STATE, False, dtype="float32", shape=(20,)),
        FeatureSpec("state.ee_rot6d_legacy", FeatureKind.STATE, False, dtype="float32", shape=(20,)),
        FeatureSpec("language.instruction", FeatureKind.LANGUAGE),
    ),
    action=ActionSpec("joint_abs_14", dimension=14),
    supported_action_representations=("joint_abs_14", "xvla_ee_rot6d_20", "xvla_ee_rot6d_20_legacy"),
    default_action_representation="joint_abs_14",
)
SPECS = {
    "aloha": TWO_ARMS,
    **{name: get_benchmark_spec(name, "all") for name in ("libero", "robotwin", "metaworld")},
}

KEYS = {
    ("openpi-libero", "libero"): (
        "observation/image: images.primary 224×224 pad",
        "observation/wrist_image: images.wrist 224×224 pad",
        "observation/state: state.eef_axis_angle",
        "prompt: language.instruction",
    ),
    ("openpi-aloha", "aloha"): (
        "images.cam_high: images.top 224×224 pad chw",
        "images.cam_low: images.angle 224×224 pad chw",
        "state: state.joints",
        "prompt: language.instruction",
    ),
    ("openpi-aloha", "robotwin"): (
        "images.cam_high: images.head 224×224 pad chw",
        "images.cam_left_wrist: images.left_wrist 224×224 pad chw",
        "images.cam_right_wrist: images.right_wrist 224×224 pad chw",
        "state: state.joints",
        "prompt: language.instruction",
    ),
    ("openpi-droid", "metaworld"): (
        "observation/exterior_image_1_left: images.primary 224×224 pad",
        "observation/wrist_image_left: images.tertiary 224×224 pad",
        "observation/joint_position: state.proprioception",
        "prompt: language.instruction",
    ),
    ("starvla", "robotwin"): (
        "examples.0.image.0: images.head",
        "examples.0.image.1: images.left_wrist",
        "examples.0.image.2: images.right_wrist",
        "examples.0.state: state.joints",
        "examples.0.lang: language.instruction",
    ),
    ("qvla", "aloha"): (
        "base_0_rgb: images.top",
        "left_wrist_0_rgb: images.front_close",
        "state: state.joints",
        "prompt: language.instruction",
    ),
    ("embodybench", "robotwin"): (
        "image_countertop: images.head jpeg:85",
        "image_wrist_left: images.left_wrist jpeg:85",
        "image_wrist_right: images.right_wrist jpeg:85",
        "state: state.joints",
        "instruction: language.instruction",
    ),
    ("embodybench-ee", "aloha"): (
        "image_countertop: images.top jpeg:85",
        "image_wrist_left: images.front_close jpeg:85",
        "image_wrist_right: images.angle jpeg:85",
        "state: state.ee_rot6d",
        "instruction: language.instruction",
    ),
    ("xvla-robotwin", "aloha"): (
        "image0: images.top",
        "proprio: state.ee_rot6d_legacy",
        "language_instruction: language.instruction",
    ),
}


def terms(preset: str, benchmark: str) -> tuple[str, ...]:
    """What is sent, one line per key, as a reader of the protocol's page would check it."""
    mapper = Mapper(PRESETS[preset], SPECS[benchmark])
    images = {image.key: image for image in PRESETS[preset].images}
    lines = []
    for channel in mapper.channels:
        line = f"{channel.key}: {channel.spec.name}"
        image = images.get(channel.key)
        if image is not None and image.size:
            line += f" {image.size[0]}×{image.size[1]} {image.resize}"
        if image is not None and image.layout != "hwc":
            line += f" {image.layout}"
        if image is not None and image.codec != "raw":
            line += f" {image.codec}"
        lines.append(line)
    return tuple(lines)


@pytest.mark.parametrize(("preset", "benchmark"), sorted(KEYS))
def test_keys_features_sizes_and_layouts(preset: str, benchmark: str) -> None:
    assert terms(preset, benchmark) == KEYS[preset, benchmark]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_preset_fits_a_benchmark(preset: str) -> None:
    fitting = []
    for name, spec in SPECS.items():
        try:
            fitting.append((name, Mapper(PRESETS[preset], spec).features))
        except UsageError:
            continue
    assert any(features[-1] == "language.instruction" for _, features in fitting)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_no_preset_has_keys_that_clash(preset: str) -> None:
    mapping = PRESETS[preset]
    keys = [*(entry.key for entry in (*mapping.images, *mapping.states)), mapping.instruction or "none"]
    assert len(set(keys)) == len(keys)
    assert build([((key,), key) for key in keys]).keys() == set(keys)


def test_numbers_with_one_meaning_are_not_sent_to_a_benchmark_with_another() -> None:
    for preset in ("xvla-robotwin", "embodybench-ee"):
        with pytest.raises(UnknownNameError, match="action_representation of mapping"):
            Mapper(PRESETS[preset], SPECS["metaworld"])


def test_domain_of_the_released_checkpoint() -> None:
    assert PRESETS["xvla-robotwin"].constants == {"domain_id": 6}
