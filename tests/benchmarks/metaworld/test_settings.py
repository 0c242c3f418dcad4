"""What a Meta-World version may say of its cameras and episodes, and what is refused, by name."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from proctor.benchmarks.definition import BenchmarkDefinition, FeatureDefinition
from proctor.benchmarks.metaworld.settings import (
    CameraSettings,
    episode_settings_of,
    positions_of,
    settings_of,
)
from proctor.benchmarks.registry import find_version
from proctor.errors import BenchmarkFault, UnknownNameError, UsageError
from proctor.parsing import parse

GOALS = find_version("metaworld-mt50-4cam-v1")
MT50 = find_version("metaworld-mt50-v1")


def with_camera(**fields: Any) -> BenchmarkDefinition:
    return replace(GOALS.definition, settings={"cameras": {"images.primary": fields}})


def with_shape(*shape: int) -> BenchmarkDefinition:
    features = tuple(
        replace(f, shape=shape) if f.name == "images.primary" else f for f in GOALS.definition.features
    )
    return replace(GOALS.definition, features=features)


def test_a_version_that_says_nothing_renders_every_camera_as_it_is() -> None:
    assert settings_of(MT50.definition).cameras == {}
    assert positions_of(MT50.definition) == {}
    assert CameraSettings() == CameraSettings(render=None, position=None, center_crop=1.0)


def test_a_camera_is_put_where_the_version_says() -> None:
    definition = with_camera(position=[0.75, 0.075, 0.7])
    assert positions_of(definition) == {"corner2": (0.75, 0.075, 0.7)}


@pytest.mark.parametrize("side", [64, 1024])
def test_the_smallest_and_the_largest_frame_are_taken(side: int) -> None:
    assert settings_of(with_camera(render=[side, side])).cameras["images.primary"].render == (side, side)
    settings_of(with_shape(side, side, 3))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"render": [63, 480]}, r"cameras\.images\.primary: render 63 × 480 pixels; valid: 64 to 1024"),
        ({"render": [480, 1025]}, r"cameras\.images\.primary: render 480 × 1025 pixels; valid: 64 to 1024"),
        ({"render": [480]}, r"settings: .*length 2.*render"),
        (
            {"position": [0.0, float("nan"), 1.0]},
            r"position \(0\.0, nan, 1\.0\); valid: three finite numbers",
        ),
        ({"position": [0.0, 1.0]}, r"settings: .*length 3.*position"),
        ({"position": "left"}, r"settings: .*position"),
        ({"center_crop": 0.0}, r"center_crop 0\.0; valid: above 0, at most 1"),
        ({"center_crop": 1.01}, r"center_crop 1\.01; valid: above 0, at most 1"),
        ({"center_crop": float("nan")}, r"center_crop nan; valid: above 0, at most 1"),
        ({"centre_crop": 0.5}, r"'centre_crop'; did you mean 'center_crop'"),
    ],
)
def test_a_wrong_camera_setting_is_refused_by_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BenchmarkFault, match=message):
        settings_of(with_camera(**fields))


@pytest.mark.parametrize("shape", [(63, 224, 3), (224, 1025, 3)])
def test_a_frame_of_another_size_than_upstreams_tools_take_is_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(
        BenchmarkFault, match=rf"images\.primary: shape {shape[0]} × {shape[1]} pixels; valid: 64"
    ):
        settings_of(with_shape(*shape))


def test_settings_of_a_camera_that_there_is_not_are_refused() -> None:
    definition = replace(GOALS.definition, settings={"cameras": {"images.fifth": {}}})
    with pytest.raises(
        UnknownNameError, match=r"image feature in .*cameras 'images\.fifth'.*images\.primary"
    ):
        settings_of(definition)


def test_one_camera_cannot_be_in_two_places() -> None:
    features = tuple(
        replace(f, camera="corner2") if f.name == "images.secondary" else f for f in GOALS.definition.features
    )
    cameras = {"images.primary": {"position": [1.0, 0.0, 0.0]}}
    definition = replace(GOALS.definition, features=features, settings={"cameras": cameras})
    with pytest.raises(
        BenchmarkFault,
        match=r"primary has camera corner2 at position \(1\.0, 0\.0, 0\.0\), images\.secondary at None",
    ):
        positions_of(definition)


def test_two_features_may_share_a_camera_that_is_in_one_place() -> None:
    features = tuple(
        replace(f, camera="corner2") if f.name == "images.secondary" else f for f in GOALS.definition.features
    )
    here = {"position": [1.0, 0.0, 0.0]}
    cameras = {"images.primary": here, "images.secondary": here | {"center_crop": 0.5}}
    definition = replace(GOALS.definition, features=features, settings={"cameras": cameras})
    assert positions_of(definition) == {"corner2": (1.0, 0.0, 0.0)}


def test_a_turn_that_is_none_is_refused_where_the_definition_is_read() -> None:
    raw = {"name": "images.primary", "kind": "image", "orientation": "rotated-45"}
    with pytest.raises(UsageError, match=r"'rotated-45'; did you mean .*rotated-90"):
        parse(raw, FeatureDefinition, "a feature")


def test_a_key_that_an_episode_does_not_have_is_refused() -> None:
    episode = replace(GOALS.episodes[0], settings={"random_vectors": [0.0]})
    with pytest.raises(BenchmarkFault, match=r"'random_vectors'; did you mean 'random_vector'"):
        episode_settings_of(episode)
