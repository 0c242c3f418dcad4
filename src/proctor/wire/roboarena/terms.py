"""The first frame of a RoboArena server: which cameras it wants, at which size, and what its actions are."""

from __future__ import annotations

import re
from collections.abc import Mapping as Map
from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from proctor.errors import PolicyLoadError, ProtocolError, UsageError
from proctor.wire.channels import ImageChannel
from proctor.wire.mapper import Mapper

ActionSpace = Literal["joint_position", "joint_velocity", "cartesian_position", "cartesian_velocity"]
ACTION_SPACES: Final[tuple[str, ...]] = get_args(ActionSpace)

DIMENSIONS: Final = {
    "joint_position": 8,
    "joint_velocity": 8,
    "cartesian_position": 7,
    "cartesian_velocity": 7,
}
"""Values of one action: seven joints or a pose, and the gripper."""

_EXTERIOR: Final = re.compile(r"observation/exterior_image_\d+_left")
_RIGHT: Final = re.compile(r"observation/(wrist|exterior)_image.*_right")
_WRIST: Final = "observation/wrist_image_left"

_Size = Annotated[int, msgspec.Meta(ge=1, le=8192)]


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What the server says. Keys beyond these are ignored."""

    image_resolution: tuple[_Size, _Size] | None = None
    """Height and width; None: as the camera took it."""
    needs_wrist_camera: bool = True
    n_external_cameras: Annotated[int, msgspec.Meta(ge=0, le=8)] = 1
    needs_stereo_camera: bool = False
    needs_session_id: bool = False
    action_space: ActionSpace = "joint_position"


def read_terms(metadata: Map[str, Any]) -> Terms:
    """Raises `ProtocolError` naming the key that is wrong, or `action_space` where it is missing."""
    if "action_space" not in metadata:
        raise ProtocolError(
            f"first frame of a RoboArena server: action_space is missing; one of {', '.join(ACTION_SPACES)}"
        )
    try:
        return msgspec.convert(dict(metadata), Terms)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"first frame of a RoboArena server: {error}") from None


def check_fit(terms: Terms, mapper: Mapper) -> None:
    """Raise `UsageError` where the mapping sends less than is needed, `PolicyLoadError` for other actions."""
    where = f"mapping {mapper.mapping.name!r}"
    keys = camera_keys(mapper)
    exterior = sum(map(is_exterior, keys))
    if exterior < terms.n_external_cameras:
        raise UsageError(
            f"the server needs {terms.n_external_cameras} external cameras, {where} sends {exterior}"
            " with this benchmark"
        )
    if terms.needs_wrist_camera and not any(map(is_wrist, keys)):
        raise UsageError(f"the server needs {_WRIST!r}, which {where} does not send with this benchmark")
    if terms.needs_stereo_camera and not any(map(is_right, keys)):
        raise UsageError(f"the server needs stereo pairs; {where} sends no right-hand image")
    _check_resolution(terms, mapper, where)
    dimension = mapper.benchmark.action.dimension
    if dimension is not None and dimension != DIMENSIONS[terms.action_space]:
        raise PolicyLoadError(
            f"action_space is {terms.action_space!r}, of {DIMENSIONS[terms.action_space]} values;"
            f" {mapper.benchmark.action.name} has {dimension}"
        )


def camera_keys(mapper: Mapper) -> tuple[str, ...]:
    """Keys of the images that travel with this benchmark."""
    return tuple(channel.key for channel in mapper.channels if isinstance(channel, ImageChannel))


def is_exterior(key: str) -> bool:
    """Whether this is the key of an external camera; they are numbered from 0 or from 1."""
    return _EXTERIOR.fullmatch(key) is not None


def is_wrist(key: str) -> bool:
    """Whether this is the key of the wrist camera."""
    return key == _WRIST


def is_right(key: str) -> bool:
    """Whether this is the key of a stereo pair's right image."""
    return _RIGHT.fullmatch(key) is not None


def _check_resolution(terms: Terms, mapper: Mapper, where: str) -> None:
    if terms.image_resolution is None:
        return
    height, width = terms.image_resolution
    for shape in mapper.image_shapes:
        if shape[:2] != (height, width):
            raise UsageError(
                f"the server wants images of {height} × {width}, {where} sends {shape[0]} × {shape[1]}: write"
                f" size = [{height}, {width}] for every image"
            )
