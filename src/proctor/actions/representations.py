"""Named meanings of the action vector. A name, once published, never changes its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from numpy.typing import NDArray

from proctor.actions import calvin_tcp, robotwin_ee, xvla_ee
from proctor.errors import UnknownNameError

Unit = Literal[
    "rad", "rad/s", "m", "rot6d", "quaternion", "opening 0..1", "closedness 0..1", "closes above 0.7",
    "m per 0.01", "effort -1..1", "m per 0.02", "rad per 0.05", "-1 closes, 1 opens",
    "m per 0.05", "rad per 0.5", "-1 opens, 1 closes",
]  # fmt: skip


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
    check: Callable[[NDArray[Any]], object] | None = None
    """Raises `InvalidActionError` for finite numbers that stand for nothing; None: there are none."""

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


def two_valued(name: str) -> tuple[int, ...]:
    """Which numbers of a representation are exactly -1 or 1; none of one that is not known."""
    known = REPRESENTATIONS.get(name)
    components = known.components if known else ()
    return tuple(index for index, each in enumerate(components) if each.unit == "-1 closes, 1 opens")


def _viper_arm(side: str) -> tuple[Component, ...]:
    joints = ("waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate")
    return (
        *(Component(f"{side}_{joint}", "rad") for joint in joints),
        Component(f"{side}_gripper", "opening 0..1"),
    )


def _end_effector(side: str) -> tuple[Component, ...]:
    return (
        *(Component(f"{side}_{axis}", "m") for axis in "xyz"),
        *(Component(f"{side}_rot6d_{index}", "rot6d") for index in range(6)),
        Component(f"{side}_gripper", "closes above 0.7"),
    )


def _six_joint_arm(side: str) -> tuple[Component, ...]:
    return (
        *(Component(f"{side}_joint_{number}", "rad") for number in range(1, 7)),
        Component(f"{side}_gripper", "opening 0..1"),
    )


def _wrist(side: str, quaternion: str) -> tuple[Component, ...]:
    return (
        *(Component(f"{side}_{axis}", "m") for axis in "xyz"),
        *(Component(f"{side}_q{letter}", "quaternion") for letter in quaternion),
        Component(f"{side}_gripper", "opening 0..1"),
    )


def _robosuite_hand(prefix: str = "") -> tuple[Component, ...]:
    return (
        *(Component(f"{prefix}{axis}", "m per 0.05") for axis in "xyz"),
        *(Component(f"{prefix}turn_{axis}", "rad per 0.5") for axis in "xyz"),
        Component(f"{prefix}gripper", "-1 opens, 1 closes"),
    )


def _xvla_ee(convention: xvla_ee.Convention, rotation: str) -> Representation:
    return Representation(
        name=convention.representation,
        dtype="float32",
        components=_end_effector("left") + _end_effector("right"),
        absolute=True,
        meaning=(
            "Two end effectors, left 0-9, right 10-19: position x y z (m, world frame), rotation 6, gripper. "
            f"Absolute targets. {rotation} A gripper above 0.7 closes, and opens otherwise."
        ),
        check=lambda action: xvla_ee.unpack_action(action, convention),
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

XVLA_EE_ROT6D_20 = _xvla_ee(
    xvla_ee.PHYSICAL,
    "The rotation is r00 r01 r10 r11 r20 r21 of the end effector's matrix: two columns, row by row.",
)

XVLA_EE_ROT6D_20_LEGACY = _xvla_ee(
    xvla_ee.LEGACY,
    "The rotation is r00 r01 r10 r11 r20 r21 of the matrix made from the end effector's quaternion with its "
    "wxyz numbers read as xyzw, as the X-VLA checkpoint released for RoboTwin has it: not the physical one.",
)

ROBOTWIN_QPOS_V1 = Representation(
    name="robotwin.qpos-v1",
    dtype="float32",
    components=_six_joint_arm("left") + _six_joint_arm("right"),
    absolute=True,
    meaning=(
        "RoboTwin's joint targets: left joints 1-6 (rad), left gripper, right joints 1-6, right gripper. A "
        "gripper is 0 closed, 1 open. The same layout as joint_abs_14; each target is moved to along a timed "
        "path, however long that takes."
    ),
)

ROBOTWIN_EE_WXYZ_V1 = Representation(
    name=robotwin_ee.QUATERNION,
    dtype="float32",
    components=_wrist("left", "wxyz") + _wrist("right", "wxyz"),
    absolute=True,
    meaning=(
        "RoboTwin's wrist frames in the world, left 0-7, right 8-15: position x y z (m), quaternion w x y z, "
        "gripper 0 closed, 1 open. Absolute targets, planned to; the tool's point is 0.12 m ahead along x."
    ),
    check=robotwin_ee.check_quaternions,
)

ROBOTWIN_EE_COMPACT_QUAT_V1 = Representation(
    name=robotwin_ee.COMPACT,
    dtype="float32",
    components=_wrist("left", "xyz") + _wrist("right", "xyz"),
    absolute=True,
    meaning=(
        "As robotwin.ee-wxyz-v1 without w, which is never negative: left 0-6, right 7-13: position x y z "
        "(m), quaternion x y z, gripper."
    ),
    check=robotwin_ee.expand,
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

PANDA_JOINT_VELOCITY_V1 = Representation(
    name="panda.joint-velocity-v1",
    dtype="float32",
    components=(
        *(Component(f"joint_{number}", "rad/s") for number in range(1, 8)),
        Component("gripper", "closedness 0..1"),
    ),
    absolute=False,
    meaning=(
        "Velocities of the Panda's seven joints, rad/s, kept for one control step, and where the gripper is "
        "to be: 0 open, 1 closed."
    ),
)

CALVIN_RELATIVE_V1 = Representation(
    name=calvin_tcp.RELATIVE,
    dtype="float32",
    components=(
        *(Component(axis, "m per 0.02") for axis in "xyz"),
        *(Component(f"turn_{axis}", "rad per 0.05") for axis in "xyz"),
        Component("gripper", "-1 closes, 1 opens"),
    ),
    absolute=False,
    meaning=(
        "Changes of the target of the point between the fingers, along the world's axes, 1 being 0.02 m, and "
        "of its Euler angles about the fixed axes x, y, z, 1 being 0.05 rad; a gripper that is exactly -1 "
        "(closes) or 1 (opens). Changes add up on the target, not on the measured pose."
    ),
    check=calvin_tcp.check_relative,
)

CALVIN_ABSOLUTE_COMPACT_QUAT_V1 = Representation(
    name=calvin_tcp.ABSOLUTE,
    dtype="float32",
    components=(
        *(Component(axis, "m") for axis in "xyz"),
        *(Component(f"q{axis}", "quaternion") for axis in "xyz"),
        Component("gripper", "-1 closes, 1 opens"),
    ),
    absolute=True,
    meaning=(
        "Where the point between the fingers is to be in the world: position x y z (m), quaternion x y z "
        "without w, which is never negative; a gripper that is exactly -1 (closes) or 1 (opens)."
    ),
    check=calvin_tcp.unpack_absolute,
)

LIBERO_DELTA_EEF_V1 = Representation(
    name="libero.delta-eef-v1",
    dtype="float32",
    components=_robosuite_hand(),
    absolute=False,
    meaning=(
        "robosuite's OSC_POSE: displacement of the end effector from where it is, along the world's axes, 1 "
        "being 0.05 m per control step; a turn, as axis times angle about these axes, 1 being 0.5 rad; and "
        "the fingers, of which the sign alone counts: negative opens, positive closes, 0 lets them be."
    ),
)

LIBERO_ABSOLUTE_EEF_V1 = Representation(
    name="libero.absolute-eef-v1",
    dtype="float32",
    components=(
        *(Component(axis, "m") for axis in "xyz"),
        *(Component(f"turn_{axis}", "rad") for axis in "xyz"),
        Component("gripper", "-1 opens, 1 closes"),
    ),
    absolute=True,
    meaning=(
        "robosuite's OSC_POSE with absolute targets: where the point between the fingers is to be in the "
        "world, and its orientation there as axis times angle (rad), of the site between the fingers, which "
        "is the hand's body turned by -90 degrees about its z; the fingers as in libero.delta-eef-v1."
    ),
)

ROBOSUITE_DELTA_EEF_V1 = Representation(
    name="robosuite.delta-eef-v1",
    dtype="float32",
    components=_robosuite_hand(),
    absolute=False,
    meaning=(
        "OSC_POSE of robosuite 1.5: displacement of the end effector from where it is, along the axes of the "
        "robot's base, 1 being 0.05 m per control step; a turn, as axis times angle about these axes, 1 "
        "being 0.5 rad; and the fingers, of which the sign alone counts: negative opens, positive closes, 0 "
        "lets them be. The same as libero.delta-eef-v1 where the base stands as the world does."
    ),
)

ROBOSUITE_TWO_ARM_DELTA_EEF_V1 = Representation(
    name="robosuite.two-arm-delta-eef-v1",
    dtype="float32",
    components=_robosuite_hand("robot0_") + _robosuite_hand("robot1_"),
    absolute=False,
    meaning=(
        "robosuite.delta-eef-v1 of robot 0, then of robot 1, each along the axes of its own base: two robots "
        "face to face have bases turned by 180 degrees against each other."
    ),
)

_KNOWN = (
    JOINT_ABS_14,
    XVLA_EE_ROT6D_20,
    XVLA_EE_ROT6D_20_LEGACY,
    ROBOTWIN_QPOS_V1,
    ROBOTWIN_EE_WXYZ_V1,
    ROBOTWIN_EE_COMPACT_QUAT_V1,
    METAWORLD_DELTA_EEF_V1,
    PANDA_JOINT_VELOCITY_V1,
    CALVIN_RELATIVE_V1,
    CALVIN_ABSOLUTE_COMPACT_QUAT_V1,
    LIBERO_DELTA_EEF_V1,
    LIBERO_ABSOLUTE_EEF_V1,
    ROBOSUITE_DELTA_EEF_V1,
    ROBOSUITE_TWO_ARM_DELTA_EEF_V1,
)

REPRESENTATIONS: Mapping[str, Representation] = MappingProxyType({each.name: each for each in _KNOWN})
"""Every representation known, by name."""
