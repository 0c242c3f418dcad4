"""Several arms following a stream of end-effector targets, one per control step.

Each step searches from the joint targets of the step before, so that an arm stays on its branch of the
inverse while the targets move on. Where that ends further away than an arm goes in one step, the search
begins afresh from given postures, and the arm changes its branch for one that ends much nearer. Nothing is
planned: from one target to a far one the arm goes as its motors take it. A target out of reach is answered
with the nearest pose found and with what is missing: never silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.actions.kinematics import Pose, SerialChain, Solution

VERSION: Final = "damped-least-squares-1"
"""Names everything here and in `kinematics` that moves a result: a changed constant is another version, and a
frozen benchmark names the version it was frozen with."""

REACHED_M: Final = 1e-3
"""Largest distance, m, between a target and the pose found that counts as reached."""
REACHED_RAD: Final = 1e-2
"""Largest angle, rad, that does: 0.6 degrees."""
AFRESH_M: Final = 0.02
"""Distance, m, beyond which an arm is not only late but lost: 1 m/s for a control step of 20 ms."""
AFRESH_RAD: Final = 0.2
"""Angle, rad, beyond which it is: 10 rad/s."""
MUCH_NEARER: Final = 0.5
"""Share of the error that another branch must end below: an arm does not change it for little."""


class ArmStep(NamedTuple):
    """What one control step asks of one arm's joints."""

    joints: NDArray[np.float64]
    """(n,) rad, within the limits."""
    residual_m: float
    """Distance left between the target and the pose these joints give."""
    residual_rad: float
    """Angle left."""

    @property
    def reached(self) -> bool:
        """Whether both are within tolerance."""
        return self.residual_m <= REACHED_M and self.residual_rad <= REACHED_RAD


def follow(
    arms: Sequence[SerialChain],
    targets: Sequence[Pose],
    joints: Sequence[ArrayLike],
    postures: Sequence[ArrayLike] = (),
) -> tuple[ArmStep, ...]:
    """What brings every arm to its target, or as near as was found, from the joint targets it has now.

    `targets` are in the world frame, `joints` (n,) rad; one of each per arm. `postures` are joints (n,), rad,
    from which an arm that is lost is looked for.
    """
    return tuple(_follow(*each, postures) for each in zip(arms, targets, joints, strict=True))


def _follow(arm: SerialChain, target: Pose, joints: ArrayLike, postures: Sequence[ArrayLike]) -> ArmStep:
    found = arm.solve(target, joints)
    if found.residual_m > AFRESH_M or found.residual_rad > AFRESH_RAD:
        found = _nearer(found, [arm.solve(target, posture) for posture in postures])
    return ArmStep(found.joints, found.residual_m, found.residual_rad)


def _nearer(found: Solution, others: Sequence[Solution]) -> Solution:
    other = min(others, key=lambda solution: solution.distance, default=found)
    return other if other.distance < MUCH_NEARER * found.distance else found
