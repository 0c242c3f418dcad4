"""What one number says about a gripper, in the terms of each benchmark and checkpoint.

Inside proctor a gripper is its opening: 0 closed, 1 open, as in `joint_abs_14`, gym-aloha and RoboTwin. The
functions here go from and to what others say. A threshold is crossed only by more (or less) than its value.
"""

from __future__ import annotations

from typing import Final

XVLA_CLOSES_ABOVE: Final = 0.7
"""X-VLA's two-arm action: a larger number closes, this one and all below open."""
XVLA_LIBERO_CLOSES_ABOVE: Final = 0.5
"""X-VLA's LIBERO action."""
XVLA_CALVIN_OPENS_BELOW: Final = 0.8
"""X-VLA's CALVIN action."""
STARVLA_LIBERO_OPENS_ABOVE: Final = 0.5
"""StarVLA's LIBERO action, an opening."""


def closing_signal(opening: float) -> float:
    """−1 open … +1 closed: X-VLA's two-arm state."""
    return 1 - 2 * opening


def closedness(opening: float) -> float:
    """0 open … 1 closed: DROID, RoboArena, AXIS, and the states X-VLA was trained on."""
    return 1 - opening


def opening_signal(opening: float) -> float:
    """−1 closed … +1 open."""
    return 2 * opening - 1


def opening_of_closing_signal(signal: float) -> float:
    """Inverse of `closing_signal`."""
    return (1 - signal) / 2


def xvla_closes(value: float) -> bool:
    """Whether the gripper number of an X-VLA two-arm action closes."""
    return value > XVLA_CLOSES_ABOVE


def xvla_command(value: float) -> float:
    """RoboTwin's command, −1 closes and +1 opens, for the gripper number of an X-VLA two-arm action."""
    return -1.0 if xvla_closes(value) else 1.0


def opening_of_command(command: float) -> float:
    """What RoboTwin makes of a command: the opening, 0 to 1, nearest to it."""
    return min(1.0, max(0.0, command))


def xvla_libero_command(value: float) -> float:
    """LIBERO's command, −1 opens and +1 closes, for X-VLA's gripper number."""
    return 1.0 if value > XVLA_LIBERO_CLOSES_ABOVE else -1.0


def xvla_calvin_command(value: float) -> float:
    """CALVIN's command, +1 opens and −1 closes, for X-VLA's gripper number."""
    return 1.0 if value < XVLA_CALVIN_OPENS_BELOW else -1.0


def starvla_libero_command(opening: float) -> float:
    """LIBERO's command, −1 opens and +1 closes, for StarVLA's gripper number, an opening from 0 to 1."""
    return -1.0 if opening > STARVLA_LIBERO_OPENS_ABOVE else 1.0
