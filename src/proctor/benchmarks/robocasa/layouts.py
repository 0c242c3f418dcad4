"""Which of upstream's keys a feature and an action are made of, for each of the two simulators."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UnknownNameError

Kind = Literal["gr1", "365"]
Parts = tuple[tuple[str, int], ...]
"""Upstream's keys with the count of numbers under each, in order."""


class Picture(NamedTuple):
    """One of upstream's frames."""

    key: str
    camera: str


class Layout(NamedTuple):
    """One simulator's dictionaries."""

    representation: str
    action: Parts
    state: Parts
    """Of `state.proprioception`."""
    images: Mapping[str, Picture]
    """By feature."""
    language: str
    moves: bool
    """Whether actions are displacements; they are targets otherwise."""
    kept: tuple[str, ...]
    """What a robot that waits is told again, where actions are displacements."""

    def command(self, action: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """An action as upstream's `step` takes it: a copy that upstream may change."""
        ends = np.cumsum([size for _, size in self.action])[:-1]
        parts = np.split(np.array(action), ends)
        return {key: part for (key, _), part in zip(self.action, parts, strict=True)}

    def proprioception(self, observed: Mapping[str, Any]) -> NDArray[np.float32]:
        """`state.proprioception` of upstream's observation."""
        parts = [np.asarray(observed[key], np.float32).reshape(size) for key, size in self.state]
        return np.concatenate(parts)

    def holding(self, last: NDArray[Any] | None, observed: Mapping[str, Any] | None) -> NDArray[np.float32]:
        """What keeps the robot where it is: the last targets; no displacement, and the hand as it was told.

        Before the first action: arms and waist as measured, hands at 0; everything 0 where actions move.
        """
        if last is not None and not self.moves:
            return np.array(last, np.float32)
        parts = []
        told = None if last is None else self.command(last)
        for key, size in self.action:
            part = np.zeros(size)
            if self.moves and told is not None and key in self.kept:
                part = told[key]
            elif not self.moves and observed is not None and key not in self.kept:
                part = np.asarray(observed[key.replace("action.", "state.")], np.float64).reshape(size)
            parts.append(part)
        return np.concatenate(parts).astype(np.float32)


_BODY: Final = (("left_arm", 7), ("right_arm", 7), ("left_hand", 6), ("right_hand", 6), ("waist", 3))

LAYOUTS: Final[Mapping[Kind, Layout]] = MappingProxyType(
    {
        "gr1": Layout(
            representation="robocasa.gr1-joint-v1",
            action=tuple((f"action.{name}", size) for name, size in _BODY),
            state=tuple((f"state.{name}", size) for name, size in _BODY),
            images={"images.primary": Picture("video.ego_view_bg_crop_pad_res256_freq20", "egoview")},
            language="annotation.human.coarse_action",
            moves=False,
            kept=("action.left_hand", "action.right_hand"),
        ),
        "365": Layout(
            representation="robocasa.panda-omron-v1",
            action=(
                ("action.end_effector_position", 3),
                ("action.end_effector_rotation", 3),
                ("action.gripper_close", 1),
                ("action.base_motion", 4),
                ("action.control_mode", 1),
            ),
            state=(
                ("state.end_effector_position_relative", 3),
                ("state.end_effector_rotation_relative", 4),
                ("state.gripper_qpos", 2),
                ("state.base_position", 3),
                ("state.base_rotation", 4),
            ),
            images={
                "images.left": Picture("video.robot0_agentview_left", "robot0_agentview_left"),
                "images.right": Picture("video.robot0_agentview_right", "robot0_agentview_right"),
                "images.wrist": Picture("video.robot0_eye_in_hand", "robot0_eye_in_hand"),
            },
            language="annotation.human.task_description",
            moves=True,
            kept=("action.gripper_close", "action.control_mode"),
        ),
    }
)


def layout_of(kind: Kind, representation: str) -> Layout:
    """Raises `UnknownNameError` for a representation that this simulator does not have."""
    layout = LAYOUTS[kind]
    if representation != layout.representation:
        valid = (layout.representation,)
        raise UnknownNameError("action representation of RoboCasa", representation, valid)
    return layout
