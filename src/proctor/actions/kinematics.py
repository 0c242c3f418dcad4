"""A serial chain of hinges: forward kinematics, Jacobian and inverse kinematics in numpy.

The inverse is damped least squares: every step solves (JᵀJ + λ²I) Δq = Jᵀe for the pose error e, is capped,
and is clipped to the joint limits; joints at a limit that would be pushed on are left out of it. A step that
brings the tool no nearer is not taken but tried again with more damping. It follows a moving target in one or
two steps, finds a far one in about ten, and ends close to the nearest pose there is where a target is out of
reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.actions.rotations import Matrix, Vector, cross_matrix, rotation_vector_from_matrix

DAMPING: Final = 1e-2
"""Least λ: holds the joints still where the arm is stretched, at the price of slower convergence there."""
MORE_DAMPING: Final = 8.0
"""Factor of λ² after a step that was of no use."""
LESS_DAMPING: Final = 0.5
"""Factor of λ² after a step that was."""
STEP_CAP_RAD: Final = 0.3
"""Largest change of one joint in one iteration; the linear model is wrong further out."""
TOLERANCE: Final = 1e-4
"""Length of the pose error (metres and radians together) that counts as reached."""
STALLED: Final = 1e-4
"""Share of the error below which an iteration's gain ends the search: the nearest pose is found."""
MAX_ITERATIONS: Final = 30
"""Iterations before the search ends where it is: 2 ms, a tenth of a control period."""


class Pose(NamedTuple):
    """Where something is and how it is turned, in the world frame."""

    position: Vector
    """(3,) metres."""
    rotation: Matrix
    """(3, 3)."""


@dataclass(frozen=True)
class Hinge:
    """One revolute joint, in the frame of the link before it."""

    name: str
    offset: tuple[float, float, float]
    """Metres from the previous joint to this one, at zero angle."""
    axis: tuple[float, float, float]
    """Unit vector."""
    low: float
    high: float
    """Limits, rad."""


@dataclass(frozen=True)
class SerialChain:
    """Hinges from a fixed base to a tool."""

    base: Pose
    hinges: tuple[Hinge, ...]
    tool: tuple[float, float, float]
    """Metres from the last hinge to the tool's point, in the last link's frame."""
    low: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    high: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _axes: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _offsets: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _cross: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _cross_squared: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        cross = np.array([cross_matrix(hinge.axis) for hinge in self.hinges])
        derived = {
            "low": np.array([hinge.low for hinge in self.hinges]),
            "high": np.array([hinge.high for hinge in self.hinges]),
            "_axes": np.array([hinge.axis for hinge in self.hinges]),
            "_offsets": np.array([hinge.offset for hinge in self.hinges]),
            "_cross": cross,
            "_cross_squared": cross @ cross,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def forward(self, joints: ArrayLike) -> Pose:
        """Pose of the tool for joint angles (n,)."""
        return self._links(joints).tool

    def jacobian(self, joints: ArrayLike) -> NDArray[np.float64]:
        """(6, n): change of the tool's position (rows 0-2, m) and orientation (rows 3-5, rad) per rad."""
        return self._links(joints).jacobian()

    def solve(self, target: Pose, start: ArrayLike) -> Solution:
        """Joint angles that bring the tool to `target`, searched from `start` (n,).

        The angles are within the limits and the nearest found, also where the target was not reached.
        """
        at = self._aim(target, np.clip(np.asarray(start, dtype=np.float64), self.low, self.high))
        damping = least = DAMPING**2
        iteration = 0
        while at.distance >= TOLERANCE and iteration < MAX_ITERATIONS:
            iteration += 1
            step = _step(self._free_jacobian(at), at.error, damping)
            tried = self._aim(target, np.clip(at.joints + step, self.low, self.high))
            gain = at.distance - tried.distance
            if gain <= 0:
                damping *= MORE_DAMPING
                continue
            stalled = gain < STALLED * at.distance
            at, damping = tried, max(damping * LESS_DAMPING, least)
            if stalled:
                break
        return Solution(at.joints, at.distance < TOLERANCE, at.error, iteration)

    def _aim(self, target: Pose, joints: NDArray[np.float64]) -> _Aim:
        links = self._links(joints)
        error = pose_error(target, links.tool)
        return _Aim(joints, links, error, math.sqrt(float(error @ error)))

    def _free_jacobian(self, at: _Aim) -> NDArray[np.float64]:
        """The Jacobian without the joints at a limit that the error would push on."""
        jacobian = at.links.jacobian()
        push = jacobian.T @ at.error
        stuck = ((at.joints <= self.low) & (push < 0)) | ((at.joints >= self.high) & (push > 0))
        jacobian[:, stuck] = 0.0
        return jacobian

    def _links(self, joints: ArrayLike) -> _Links:
        angles = np.asarray(joints, dtype=np.float64)[:, None, None]
        turns = np.eye(3) + np.sin(angles) * self._cross + (1 - np.cos(angles)) * self._cross_squared
        position, rotation = self.base
        count = len(self.hinges)
        anchors, axes = np.empty((count, 3)), np.empty((count, 3))
        for index in range(count):
            position = position + rotation @ self._offsets[index]
            anchors[index], axes[index] = position, rotation @ self._axes[index]
            rotation = rotation @ turns[index]
        return _Links(anchors, axes, Pose(position + rotation @ np.array(self.tool), rotation))


class Solution(NamedTuple):
    """What the inverse found: the nearest to the target of all it tried."""

    joints: NDArray[np.float64]
    """(n,) rad, within the limits."""
    reached: bool
    """Whether the remaining error is below `TOLERANCE`."""
    error: NDArray[np.float64]
    """(6,): what remains, a translation (m) and a rotation vector (rad); see `pose_error`."""
    iterations: int

    @property
    def distance(self) -> float:
        """Length of the error, metres and radians together."""
        return float(np.linalg.norm(self.error))

    @property
    def residual_m(self) -> float:
        """Distance left between tool and target."""
        return float(np.linalg.norm(self.error[:3]))

    @property
    def residual_rad(self) -> float:
        """Angle left between tool and target."""
        return float(np.linalg.norm(self.error[3:]))


class _Aim(NamedTuple):
    """A chain at one set of joint angles, and how far from a target that leaves it."""

    joints: NDArray[np.float64]
    links: _Links
    error: NDArray[np.float64]
    distance: float


class _Links(NamedTuple):
    """A chain at one set of joint angles, in the world frame."""

    anchors: NDArray[np.float64]
    """(n, 3): where each hinge is."""
    axes: NDArray[np.float64]
    """(n, 3): what each hinge turns about."""
    tool: Pose

    def jacobian(self) -> NDArray[np.float64]:
        ax, ay, az = self.axes.T
        rx, ry, rz = (self.tool.position - self.anchors).T
        # axis × lever, row by row: numpy.cross takes longer than everything else here.
        return np.array([ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx, ax, ay, az])


def pose_error(target: Pose, present: Pose) -> NDArray[np.float64]:
    """(6,): the translation (m) and rotation vector (rad), in the world frame, from `present` to `target`."""
    turn = rotation_vector_from_matrix(target.rotation @ present.rotation.T)
    return np.concatenate([target.position - present.position, turn])


def _step(jacobian: NDArray[np.float64], error: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    """(n,): the damped least squares step towards no error, none of its angles above the cap."""
    normal = jacobian.T @ jacobian
    normal[np.diag_indices_from(normal)] += damping
    step = np.asarray(np.linalg.solve(normal, jacobian.T @ error), dtype=np.float64)
    return step * (STEP_CAP_RAD / max(float(np.abs(step).max()), STEP_CAP_RAD))
