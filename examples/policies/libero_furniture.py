"""How LIBERO's oracle opens and closes drawers and turns a knob. Lengths were read off upstream's models.

Furniture is described in its own frame: drawers open towards -y.
"""

from __future__ import annotations

import math
from typing import Final

from libero_scene import CLOSED, OPEN, OVER, QUARTER, Pose, Stage, Vector, point

from proctor.actions.rotations import (
    about_y,
    about_z,
    matrix_from_rotation_vector,
    rotation_vector_from_matrix,
)

LEVELS: Final = {"top": 0.186, "middle": 0.117, "bottom": 0.047}
"""Height of the drawers' middles, m."""
DRAWER_OPEN_Y: Final = -0.135
DRAWER_CLOSED_Y: Final = 0.012
"""Middle of a drawer's inside."""
HANDLE_BELOW_M: Final = 0.003
"""Middle of a drawer's handle below that of its inside."""
HANDLE_Y: Final = -0.1015
"""Middle of its bar when the drawer is closed."""
FRONT_Y: Final = -0.078
"""Of a closed drawer."""
PUSH_X: Final = -0.075
"""Beside the handle, and beside what may stand before it."""
TRAVEL_M: Final = 0.19
GRASP_LEAN_RAD: Final = 1.35
"""Of the hand from straight down, so that its fingers close above and below a bar."""
PUSH_LEAN_RAD: Final = math.pi / 4
"""So that its palm keeps away from the handles above."""


KNOB: Final = point(-0.005, 0.0, 0.04)
"""Of a stove, which is on from 0.5 rad on."""
KNOB_RAD: Final = 1.2


def level_of(what: str) -> str:
    """Of the drawer that is meant; empty for what is no drawer."""
    return next((level for level in LEVELS if level in what), "")


def inside_of(level: str, y: float = DRAWER_OPEN_Y) -> Vector:
    """Middle of a drawer's inside, m."""
    return point(0.003, y, LEVELS[level])


def body_of(region: Pose, level: str, y: float) -> Pose:
    """The cabinet of a drawer's inside, whose frame is turned by a quarter about y."""
    turned = Pose(region.position, region.orientation @ about_y(-QUARTER))
    return Pose(turned.at(-inside_of(level, y)), about_z(turned.yaw))


def _lean(body: Pose, angle: float, turn_rad: float = 0.0) -> Vector:
    """Towards the furniture, the fingers closing in the plane in which it leans, or turned from there."""
    leaning = matrix_from_rotation_vector(angle * about_z(body.yaw)[:, 0])
    return rotation_vector_from_matrix(leaning @ about_z(turn_rad))


def opened(body: Pose, level: str) -> list[Stage]:
    """In front of the handle, round it, and back."""
    z = LEVELS[level] - HANDLE_BELOW_M
    bar, turn = body.at(point(0, HANDLE_Y, z)), _lean(body, GRASP_LEAN_RAD)
    away, pulled = body.at(point(0, HANDLE_Y - 0.1, z + 0.02)), body.at(point(0, HANDLE_Y - TRAVEL_M, z))
    return [
        Stage(away, OPEN, 80, 0.012, turn),
        Stage(bar, OPEN, 40, 0.006, turn),
        Stage(bar, CLOSED, 12, turn=turn),
        Stage(pulled, CLOSED, 60, 0.015, turn),
        Stage(pulled, OPEN, 8, turn=turn),
        Stage(pulled + body.at(point(0, -0.06, 0.06)) - body.position, OPEN, 30, 0.02, turn),
        Stage(pulled + 2 * OVER, OPEN, 30, 0.03),
    ]


def closed(body: Pose, level: str) -> list[Stage]:
    """In front of the open drawer, beside its handle, and against it until it is in."""
    z = LEVELS[level] - HANDLE_BELOW_M
    turn = _lean(body, PUSH_LEAN_RAD, QUARTER)
    before, pushed = body.at(point(PUSH_X, FRONT_Y - 0.22, z)), body.at(point(PUSH_X, FRONT_Y + 0.05, z))
    return [
        Stage(before + OVER, CLOSED, 80, 0.02, turn),
        Stage(before, CLOSED, 40, 0.015, turn),
        Stage(pushed, CLOSED, 60, 0.0, turn),
        Stage(before, CLOSED, 40, 0.03, turn),
        Stage(before + OVER, CLOSED, 40, 0.03),
    ]


def turned_on(stove: Pose) -> list[Stage]:
    """Round the knob, and a turn."""
    knob, turned = stove.at(KNOB), point(0, 0, KNOB_RAD)
    return [
        Stage(knob + OVER, OPEN, 80, 0.012),
        Stage(knob, OPEN, 40, 0.006),
        Stage(knob, CLOSED, 10),
        Stage(knob, CLOSED, 15, turn=turned),
        Stage(knob, OPEN, 6, turn=turned),
        Stage(knob + OVER, OPEN, 40, 0.02, turned),
    ]
