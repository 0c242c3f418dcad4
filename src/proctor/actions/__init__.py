"""What the numbers of an action mean: named representations, limits, rotations and kinematics.

Pure numpy, and no floor of its own state: everything here is a function or a frozen value.
"""

from proctor.actions.limits import ActionLimits, CheckedAction, check_action
from proctor.actions.representations import REPRESENTATIONS, Representation, find_representation

__all__ = [
    "REPRESENTATIONS",
    "ActionLimits",
    "CheckedAction",
    "Representation",
    "check_action",
    "find_representation",
]
