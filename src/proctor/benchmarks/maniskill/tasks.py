"""The tasks of ManiSkill that need nothing but the simulator's package, and what upstream says of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Known(NamedTuple):
    """One of upstream's environments."""

    horizon: int
    """Steps that upstream registers it with."""
    robot: str = "panda"
    """The robot that upstream makes it with, unless told otherwise."""
    goal: str = ""
    """Where upstream's observation tells a place that frames do not show; empty where it tells none."""
    grasp: str = ""
    """Where it tells whether the object is grasped."""
    geometry: tuple[str, ...] = ()
    """Attributes of the environment that a seed decides beside its state."""


WITH_HAND_CAMERA: Final = "panda_wristcam"

TASKS: Final[Mapping[str, Known]] = MappingProxyType(
    {
        "PickCube-v1": Known(50, goal="goal_pos", grasp="is_grasped"),
        "StackCube-v1": Known(50, WITH_HAND_CAMERA),
        "PegInsertionSide-v1": Known(
            100, WITH_HAND_CAMERA, geometry=("peg_half_sizes", "box_hole_offsets", "box_hole_radii")
        ),
        "PushCube-v1": Known(50),
        "PullCube-v1": Known(50, goal="goal_pos"),
        "LiftPegUpright-v1": Known(50),
        "PlaceSphere-v1": Known(50, goal="bin_pos", grasp="is_grasped"),
        "PlugCharger-v1": Known(200, WITH_HAND_CAMERA),
    }
)
"""By upstream's id."""
