"""What a RoboArena server asks for, and whether a mapping gives it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from proctor.errors import PolicyLoadError, ProctorError, ProtocolError, UsageError
from proctor.policy import ActionSpec, BenchmarkSpec, FeatureKind, FeatureSpec
from proctor.wire.mapper import Mapper
from proctor.wire.presets import PRESETS
from proctor.wire.roboarena.terms import check_fit, read_terms

TERMS: dict[str, Any] = {
    "image_resolution": None,
    "needs_wrist_camera": True,
    "n_external_cameras": 1,
    "needs_stereo_camera": False,
    "needs_session_id": True,
    "action_space": "joint_velocity",
}


def spec(*, cameras: tuple[str, ...] = ("exterior", "wrist"), dimension: int = 8) -> BenchmarkSpec:
    images = [
        FeatureSpec(f"images.{name}", FeatureKind.IMAGE, dtype="uint8", shape=(180, 320, 3))
        for name in cameras
    ]
    return BenchmarkSpec(
        name="droid",
        suite="all",
        protocol_version="droid-v1",
        features=(
            *images,
            FeatureSpec("state.joint_position", FeatureKind.STATE, dtype="float32", shape=(7,)),
            FeatureSpec("language.instruction", FeatureKind.LANGUAGE),
        ),
        action=ActionSpec("droid", "", dimension),
        supported_action_representations=("droid.joint-velocity-v1",),
        default_action_representation="droid.joint-velocity-v1",
    )


def fit(benchmark: BenchmarkSpec, **changes: Any) -> None:
    check_fit(read_terms({**TERMS, **changes}), Mapper(PRESETS["roboarena"], benchmark))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"image_resolution": [180, 320]},
        {"n_external_cameras": 0, "needs_wrist_camera": False},
        {"action_space": "joint_position", "later_key": 1},
    ],
)
def test_what_fits(changes: dict[str, Any]) -> None:
    fit(spec(), **changes)


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"n_external_cameras": 2}, UsageError, "needs 2 external cameras, .* sends 1"),
        ({"needs_stereo_camera": True}, UsageError, "right-hand image"),
        ({"image_resolution": [224, 224]}, UsageError, r"write size = \[224, 224\]"),
        ({"action_space": "cartesian_velocity"}, PolicyLoadError, "of 7 values; droid has 8"),
    ],
)
def test_what_does_not_fit(changes: dict[str, Any], error: type[ProctorError], said: str) -> None:
    with pytest.raises(error, match=said):
        fit(spec(), **changes)


def test_a_benchmark_without_a_wrist_camera() -> None:
    with pytest.raises(UsageError, match="observation/wrist_image_left"):
        fit(spec(cameras=("exterior",)))


def test_cameras_are_counted_whatever_they_are_numbered_from() -> None:
    preset = PRESETS["roboarena"]
    images = tuple(
        msgspec.structs.replace(
            image, key=image.key.replace("image_1", "image_2").replace("image_0", "image_1")
        )
        for image in preset.images
    )
    numbered_from_1 = msgspec.structs.replace(preset, images=images)
    check_fit(read_terms(TERMS), Mapper(numbered_from_1, spec()))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("action_space", "joints"),
        ("n_external_cameras", -1),
        ("image_resolution", [0, 10]),
        ("image_resolution", [1, 2, 3]),
        ("needs_session_id", "no"),
    ],
)
def test_a_value_out_of_its_domain_is_named(key: str, value: Any) -> None:
    with pytest.raises(ProtocolError, match=key):
        read_terms({**TERMS, key: value})


def test_a_server_that_does_not_say_what_its_actions_are() -> None:
    with pytest.raises(ProtocolError, match="action_space is missing"):
        read_terms({key: value for key, value in TERMS.items() if key != "action_space"})
