"""Mappings that come with proctor: the terms of servers that people run.

A key's feature candidates are tried in order, so that one preset serves several benchmarks. Which feature was
taken is recorded with the run. A preset whose numbers have one meaning names the action representation: a
benchmark that lacks it is refused.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from proctor.wire.mapping import ImageMapping, Mapping, StateMapping

_FIRST: Final = ("images.primary", "images.head", "images.static", "images.top")
"""The camera that sees the whole scene."""

_LEFT_WRIST: Final = ("images.left_wrist", "images.wrist", "images.gripper", "images.tertiary")
_RIGHT_WRIST: Final = ("images.right_wrist",)
_STATE: Final = ("state.joints", "state.proprioception")
_EEF: Final = ("state.eef_axis_angle", "state.proprioception", "state.joints")


def _camera(
    key: str,
    feature: tuple[str, ...],
    *,
    size: tuple[int, int] | None = None,
    how: Literal["pad", "stretch"] = "stretch",
    layout: Literal["hwc", "chw"] = "hwc",
    codec: str = "raw",
    optional: bool = False,
) -> ImageMapping:
    return ImageMapping(
        key=key, feature=feature, size=size, resize=how, layout=layout, codec=codec, optional=optional
    )


def _openpi(key: str, feature: tuple[str, ...], *, optional: bool = False) -> ImageMapping:
    return _camera(key, feature, size=(224, 224), how="pad", optional=optional)


def _aloha(key: str, feature: tuple[str, ...], *, optional: bool = False) -> ImageMapping:
    return _camera(f"images.{key}", feature, size=(224, 224), how="pad", layout="chw", optional=optional)


def _jpeg(key: str, feature: tuple[str, ...], *, optional: bool = False) -> ImageMapping:
    return _camera(key, feature, codec="jpeg:85", optional=optional)


_EMBODYBENCH: Final = Mapping(
    name="embodybench",
    images=(
        _jpeg("image_countertop", _FIRST),
        _jpeg(
            "image_wrist_left",
            (*_LEFT_WRIST, "images.secondary", "images.front_close"),
            optional=True,
        ),
        _jpeg("image_wrist_right", (*_RIGHT_WRIST, "images.quaternary", "images.angle"), optional=True),
    ),
    states=(StateMapping(key="state", feature=_STATE, dtype="float64"),),
    instruction="instruction",
    actions="action",
)

CANONICAL: Final = "canonical"
"""Name of the mapping in which features travel under their own names, unchanged."""

_ALL: Final = (
    Mapping(name=CANONICAL, unlisted="canonical"),
    Mapping(
        name="openpi-libero",
        images=(
            _openpi("observation/image", _FIRST),
            _openpi("observation/wrist_image", _LEFT_WRIST, optional=True),
        ),
        states=(StateMapping(key="observation/state", feature=_EEF),),
        instruction="prompt",
    ),
    Mapping(
        name="openpi-aloha",
        images=(
            _aloha("cam_high", _FIRST),
            _aloha("cam_low", ("images.low", "images.angle"), optional=True),
            _aloha("cam_left_wrist", _LEFT_WRIST, optional=True),
            _aloha("cam_right_wrist", _RIGHT_WRIST, optional=True),
        ),
        states=(StateMapping(key="state", feature=_STATE),),
        instruction="prompt",
    ),
    Mapping(
        name="openpi-droid",
        images=(
            _openpi("observation/exterior_image_1_left", ("images.exterior", *_FIRST)),
            _openpi("observation/wrist_image_left", _LEFT_WRIST, optional=True),
        ),
        states=(
            StateMapping(key="observation/joint_position", feature=("state.joint_position", *_STATE)),
            StateMapping(
                key="observation/gripper_position", feature=("state.gripper_position",), optional=True
            ),
        ),
        instruction="prompt",
    ),
    Mapping(
        name="roboarena",
        images=(
            _camera("observation/exterior_image_0_left", ("images.exterior", *_FIRST)),
            _camera(
                "observation/exterior_image_1_left", ("images.exterior_2", "images.secondary"), optional=True
            ),
            _camera("observation/wrist_image_left", _LEFT_WRIST, optional=True),
        ),
        states=(
            StateMapping(key="observation/joint_position", feature=("state.joint_position", *_STATE)),
            StateMapping(
                key="observation/cartesian_position", feature=("state.cartesian_position",), optional=True
            ),
            StateMapping(
                key="observation/gripper_position", feature=("state.gripper_position",), optional=True
            ),
        ),
        instruction="prompt",
    ),
    Mapping(
        name="starvla",
        images=(
            _camera("examples.0.image.0", _FIRST),
            _camera("examples.0.image.1", (*_LEFT_WRIST, "images.angle"), optional=True),
            _camera("examples.0.image.2", _RIGHT_WRIST, optional=True),
        ),
        states=(StateMapping(key="examples.0.state", feature=_EEF),),
        instruction="examples.0.lang",
        actions="data.actions.0",
    ),
    Mapping(
        name="qvla",
        images=(
            _camera("base_0_rgb", ("images.exterior", *_FIRST)),
            _camera("left_wrist_0_rgb", (*_LEFT_WRIST, "images.front_close")),
        ),
        states=(StateMapping(key="state", feature=("state.joints_gripper", *_STATE)),),
        instruction="prompt",
    ),
    _EMBODYBENCH,
    msgspec.structs.replace(
        _EMBODYBENCH,
        name="embodybench-ee",
        states=(StateMapping(key="state", feature=("state.ee_rot6d", *_STATE), dtype="float64"),),
        action_representation="xvla_ee_rot6d_20",
    ),
    Mapping(
        name="xvla-robotwin",
        images=(
            _camera("image0", _FIRST),
            _camera("image1", _LEFT_WRIST, optional=True),
            _camera("image2", _RIGHT_WRIST, optional=True),
        ),
        states=(StateMapping(key="proprio", feature=("state.ee_rot6d_legacy", *_STATE)),),
        instruction="language_instruction",
        actions="action",
        action_representation="xvla_ee_rot6d_20_legacy",
        constants={"domain_id": 6},
    ),
)

PRESETS: Final[dict[str, Mapping]] = {mapping.name: mapping for mapping in _ALL}
"""The presets by name."""
