"""Named meanings of the action vector. A name, once published, never changes its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from proctor.errors import UnknownNameError

Unit = Literal["rad", "opening 0..1", "m per 0.01", "effort -1..1"]


@dataclass(frozen=True)
class Component:
    """One number of an action."""

    name: str
    unit: Unit


@dataclass(frozen=True)
class Representation:
    """One named, versioned meaning of the action vector."""

    name: str
    dtype: str
    components: tuple[Component, ...]
    absolute: bool
    """Whether values are targets (True) or changes relative to the present (False)."""
    meaning: str

    @property
    def dimension(self) -> int:
        """Numbers in one action."""
        return len(self.components)


def find_representation(name: str) -> Representation:
    """Look a representation up by name.

    Raises `UnknownNameError` with the valid names and the nearest one.
    """
    try:
        return REPRESENTATIONS[name]
    except KeyError:
        raise UnknownNameError("action representation", name, REPRESENTATIONS) from None


def _viper_arm(side: str) -> tuple[Component, ...]:
    joints = ("waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate")
    return (
        *(Component(f"{side}_{joint}", "rad") for joint in joints),
        Component(f"{side}_gripper", "opening 0..1"),
    )


JOINT_ABS_14 = Representation(
    name="joint_abs_14",
    dtype="float32",
    components=_viper_arm("left") + _viper_arm("right"),
    absolute=True,
    meaning=(
        "Two six-joint arms with parallel grippers: left joints 0-5, left gripper 6, right joints 7-12, "
        "right gripper 13. Joints are absolute position targets; a gripper is 0 closed, 1 open."
    ),
)

METAWORLD_DELTA_EEF_V1 = Representation(
    name="metaworld.delta-eef-v1",
    dtype="float32",
    components=(
        Component("x", "m per 0.01"),
        Component("y", "m per 0.01"),
        Component("z", "m per 0.01"),
        Component("gripper", "effort -1..1"),
    ),
    absolute=False,
    meaning=(
        "Displacement of the end effector's target along the world axes, 1 being 0.01 m per control step, "
        "and the effort of the fingers, positive closing."
    ),
)

REPRESENTATIONS: Mapping[str, Representation] = MappingProxyType(
    {each.name: each for each in (JOINT_ABS_14, METAWORLD_DELTA_EEF_V1)}
)
"""Every representation known, by name."""
