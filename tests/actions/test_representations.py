"""Named representations: what is known, and how it is laid out."""

from __future__ import annotations

import pytest

from proctor.actions import REPRESENTATIONS, find_representation
from proctor.actions.representations import two_valued
from proctor.errors import UnknownNameError


def test_the_published_names_are_known() -> None:
    assert set(REPRESENTATIONS) == {
        "joint_abs_14",
        "xvla_ee_rot6d_20",
        "xvla_ee_rot6d_20_legacy",
        "metaworld.delta-eef-v1",
        "panda.joint-velocity-v1",
        "robotwin.qpos-v1",
        "robotwin.ee-wxyz-v1",
        "robotwin.ee-compact-quat-v1",
        "calvin.relative-v1",
        "calvin.absolute-compact-quat-v1",
        "libero.delta-eef-v1",
        "libero.absolute-eef-v1",
        "robosuite.delta-eef-v1",
        "robosuite.two-arm-delta-eef-v1",
    }


def test_every_name_finds_the_representation_that_carries_it() -> None:
    assert all(find_representation(name).name == name for name in REPRESENTATIONS)


def test_joint_abs_14_is_left_arm_then_right_arm_each_with_its_gripper_last() -> None:
    names = [component.name for component in find_representation("joint_abs_14").components]
    assert len(names) == 14
    assert [i for i, name in enumerate(names) if name.endswith("gripper")] == [6, 13]
    assert all(name.startswith("left_") for name in names[:7])
    assert all(name.startswith("right_") for name in names[7:])


@pytest.mark.parametrize("name", ["xvla_ee_rot6d_20", "xvla_ee_rot6d_20_legacy"])
def test_end_effectors_are_left_then_right_each_position_rotation_gripper(name: str) -> None:
    components = find_representation(name).components
    for arm, side in ((components[:10], "left"), (components[10:], "right")):
        assert all(component.name.startswith(side) for component in arm)
        assert [component.unit for component in arm] == ["m"] * 3 + ["rot6d"] * 6 + ["closes above 0.7"]


def test_both_end_effector_conventions_are_absolute_and_say_which_they_are() -> None:
    physical, legacy = (find_representation(f"xvla_ee_rot6d_20{end}") for end in ("", "_legacy"))
    assert physical.absolute
    assert legacy.absolute
    assert "not the physical one" in legacy.meaning
    assert "not the physical one" not in physical.meaning


def test_metaworld_is_relative_and_joint_targets_are_absolute() -> None:
    assert not find_representation("metaworld.delta-eef-v1").absolute
    assert find_representation("joint_abs_14").absolute


def test_dimension_counts_the_components() -> None:
    assert find_representation("metaworld.delta-eef-v1").dimension == 4


def test_component_names_are_unique() -> None:
    for representation in REPRESENTATIONS.values():
        names = [component.name for component in representation.components]
        assert len(set(names)) == len(names)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'joint_abs_14'"):
        find_representation("joint_abs_41")


def test_representations_cannot_be_added_from_outside() -> None:
    with pytest.raises(TypeError):
        REPRESENTATIONS["mine"] = find_representation("joint_abs_14")  # type: ignore[index]


def test_a_gripper_of_two_values_is_known_by_its_position() -> None:
    assert two_valued("calvin.relative-v1") == (6,)
    assert two_valued("calvin.absolute-compact-quat-v1") == (6,)
    assert two_valued("metaworld.delta-eef-v1") == ()
    assert two_valued("somebody.elses-v1") == ()
