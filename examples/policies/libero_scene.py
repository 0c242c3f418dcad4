"""What LIBERO's oracle knows of a scene, and a step of its way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.actions.rotations import about_z, matrix_from_wxyz, wxyz_from_xyzw

OPEN, CLOSED = -1.0, 1.0
OVER: Final = np.array([0.0, 0.0, 0.12])
QUARTER: Final = math.pi / 2

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Stage:
    """A point to be at, with the gripper open or closed."""

    position: Vector
    gripper: float
    steps: int
    """The most it may take."""
    within_m: float = 0.0
    """Near enough to go on; 0: all steps are taken."""
    turn: Vector = field(default_factory=lambda: np.zeros(3))
    """Rotation vector, in the world, from the hand as it was at the start: it points down, its fingers close
    along y."""


@dataclass(frozen=True)
class Pose:
    """Of a thing, a piece of furniture or a region of one."""

    position: Vector
    orientation: Matrix

    @property
    def yaw(self) -> float:
        return math.atan2(self.orientation[1, 0], self.orientation[0, 0])

    def at(self, offset: Vector) -> Vector:
        """A point of its frame, which is turned about the vertical axis alone."""
        placed: Vector = self.position + about_z(self.yaw) @ offset
        return placed


def poses_of(rows: NDArray[np.float64]) -> list[Pose]:
    """Of the rows that are used."""
    used = rows[rows[:, 3:].any(axis=1)]
    return [Pose(row[:3], matrix_from_wxyz(wxyz_from_xyzw(row[3:]))) for row in used]


def point(x: float, y: float, z: float) -> Vector:
    """In m; also a rotation vector, in rad."""
    return np.array([x, y, z])
