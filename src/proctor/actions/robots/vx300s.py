"""The two ViperX 300 S arms of the ALOHA table, as gym-aloha 0.1.5 models them.

The world's origin is level with the table's top, 0.6 m before its middle: x to the right, y away from the
operator, z up. The left arm looks along +x, the right one along -x. At zero angles an arm's gripper points
along the arm's x axis.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from proctor.actions.kinematics import Hinge, Pose, SerialChain
from proctor.actions.rotations import about_z

Side = Literal["left", "right"]

HINGES: Final = (
    Hinge("waist", (0.0, 0.0, 0.079), (0.0, 0.0, 1.0), -3.14158, 3.14158),
    Hinge("shoulder", (0.0, 0.0, 0.04805), (0.0, 1.0, 0.0), -1.85005, 1.25664),
    Hinge("elbow", (0.05955, 0.0, 0.3), (0.0, 1.0, 0.0), -1.76278, 1.6057),
    Hinge("forearm_roll", (0.2, 0.0, 0.0), (1.0, 0.0, 0.0), -3.14158, 3.14158),
    Hinge("wrist_angle", (0.1, 0.0, 0.0), (0.0, 1.0, 0.0), -1.8675, 2.23402),
    Hinge("wrist_rotate", (0.069744, 0.0, 0.0), (1.0, 0.0, 0.0), -3.14158, 3.14158),
)
"""Six joints from base to gripper link; metres and radians."""

GRIP_M: Final = 0.1347
"""From the gripper link to the point between the finger pads, along the gripper."""

BASE_X_M: Final = 0.469
BASE_Y_M: Final = 0.5
"""Where the bases stand: x = -BASE_X_M (left) or +BASE_X_M (right)."""

RIGHT_YAW: Final = 3.1416
"""How the model turns the right base; not quite π, and kept so."""

START_JOINTS: Final = (0.0, -0.96, 1.16, 0.0, -0.3, 0.0)
"""Joint angles (rad) both arms start an episode with."""

POSTURES: Final = (
    START_JOINTS,
    (0.0, -0.6, 1.0, 1.57, 0.8, 0.0),
    (0.0, -0.6, 1.0, -1.57, 0.8, 0.0),
)
"""Joint angles (rad) from one of which descent finds nearly every pose that an arm can take over the table:
the elbow up, the forearm straight, turned left and turned right."""


def arm(side: Side, tool_m: float = GRIP_M) -> SerialChain:
    """One arm up to a point `tool_m` ahead of its gripper link (0: the link itself)."""
    x, yaw = (-BASE_X_M, 0.0) if side == "left" else (BASE_X_M, RIGHT_YAW)
    return SerialChain(Pose(np.array([x, BASE_Y_M, 0.0]), about_z(yaw)), HINGES, (tool_m, 0.0, 0.0))
