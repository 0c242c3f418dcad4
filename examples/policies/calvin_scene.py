"""What CALVIN's oracle knows of the desk: where things are now, and where they are when doors are elsewhere.

Lengths are metres in the world: x to the right along the desk, y away from whoever stands before it, z up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.actions.rotations import matrix_from_euler_xyz
from proctor.policy import Observation

STATE: Final = "state.proprioception"
SCENE: Final = "privileged.scene"
COLOURS: Final = ("red", "blue", "pink")

TABLE_M: Final = 0.44
"""Height of the table's top."""
BLOCK_M: Final = 0.04
"""How high, and how wide across, every block is; they are of different lengths."""
DOOR_M: Final = 0.28
"""How far the sliding door goes to the left, and the switch and the drawer below, upwards and out."""
SWITCH_M: Final = 0.088
DRAWER_M: Final = 0.22
BUTTON: Final = (-0.12, -0.12, 0.487)
"""Middle of its upper face when nobody presses it."""
SHELF_Y_M: Final = 0.09
_SHELF_X_M: Final = (-0.38, 0.18)
"""Ends of the shelf behind the sliding door, which covers half of it."""

_SLOPE_RAD: Final = math.radians(60)
"""Of the front that door and switch are in, against the table."""

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Scene:
    """What is seen in one step."""

    hand: Vector
    """The point between the fingertips."""
    turn: Matrix
    """Of the hand: fingers close along its second column, and point along its third."""
    gripper: int
    """As it was last commanded."""
    door: float
    drawer: float
    switch: float
    blocks: dict[str, Vector]
    """Middles, by colour."""
    turns: dict[str, Matrix]
    """A block's first column is along its length."""

    def held(self) -> str | None:
        """The block between the fingers."""
        nearest = min(COLOURS, key=self._distance)
        return nearest if self._distance(nearest) < BLOCK_M else None

    def _distance(self, colour: str) -> float:
        return float(np.linalg.norm(self.blocks[colour] - self.hand))

    def on_table(self) -> list[str]:
        """Blocks that stand on the table's top, in the order of `COLOURS`."""
        return [name for name in COLOURS if _is_on_table(self.blocks[name])]

    def stacked(self) -> str | None:
        """The block that stands on another one."""
        for name in COLOURS:
            for other in COLOURS:
                x, y, z = self.blocks[name] - self.blocks[other]
                if math.hypot(x, y) < BLOCK_M and BLOCK_M / 2 < z < 2 * BLOCK_M:
                    return name
        return None


def scene_of(observation: Observation) -> Scene:
    """What an observation says."""
    state = np.asarray(observation.features[STATE], np.float64)
    scene = np.asarray(observation.features[SCENE], np.float64)
    poses = scene[6:].reshape(len(COLOURS), 6)
    return Scene(
        hand=state[:3],
        turn=matrix_from_euler_xyz(state[3:6]),
        gripper=int(state[14]),
        door=float(scene[0]),
        drawer=float(scene[1]),
        switch=float(scene[3]),
        blocks={name: pose[:3] for name, pose in zip(COLOURS, poses, strict=True)},
        turns={name: matrix_from_euler_xyz(pose[3:]) for name, pose in zip(COLOURS, poses, strict=True)},
    )


def door_handle(door: float) -> Vector:
    """Middle of its bar, which stands upright in the slope."""
    return np.array([0.04 - door, 0.015, 0.57])


def shelf_openings(door: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """From where to where the shelf is open, left and right of the sliding door."""
    left, right = _SHELF_X_M
    return (left, right - DOOR_M - door), (right - door, right)


def drawer_handle(drawer: float) -> Vector:
    """Middle of its bar, 0.023 thick and 0.19 long, 0.056 before the drawer's front."""
    return np.array([0.18, -0.25 - drawer, 0.36])


def switch_bar(switch: float) -> Vector:
    """Middle of the bar that is pushed up and down the slope."""
    return np.array([0.3, 0.0174, 0.529]) + switch * uphill()


def uphill() -> Vector:
    """Along the slope, away from the table."""
    return np.array([0.0, math.cos(_SLOPE_RAD), math.sin(_SLOPE_RAD)])


def _is_on_table(middle: Vector) -> bool:
    _, y, z = middle
    return abs(float(z) - TABLE_M - BLOCK_M / 2) < 0.8 * BLOCK_M and -0.19 < float(y) < 0.02
