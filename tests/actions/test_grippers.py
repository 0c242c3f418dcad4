"""What one number says about a gripper."""

from __future__ import annotations

import pytest

from proctor.actions import grippers


@pytest.mark.parametrize(
    ("opening", "closing_signal", "closedness", "opening_signal"),
    [(0, 1, 1, -1), (0.25, 0.5, 0.75, -0.5), (1, -1, 0, 1)],
)
def test_openings_in_others_terms(
    opening: float, closing_signal: float, closedness: float, opening_signal: float
) -> None:
    assert grippers.closing_signal(opening) == closing_signal
    assert grippers.closedness(opening) == closedness
    assert grippers.opening_signal(opening) == opening_signal
    assert grippers.opening_of_closing_signal(closing_signal) == opening


@pytest.mark.parametrize(("value", "command"), [(0.2, 1), (0.7, 1), (0.70001, -1), (0.9, -1)])
def test_xvla_closes_above_its_threshold_and_not_at_it(value: float, command: float) -> None:
    assert grippers.xvla_command(value) == command
    assert grippers.xvla_closes(value) == (command == -1)


@pytest.mark.parametrize(("command", "opening"), [(-1, 0), (0, 0), (0.4, 0.4), (1, 1), (1.5, 1)])
def test_robotwin_clips_a_command_to_an_opening(command: float, opening: float) -> None:
    assert grippers.opening_of_command(command) == opening


@pytest.mark.parametrize(("value", "command"), [(0, -1), (0.5, -1), (0.50001, 1), (1, 1)])
def test_xvla_on_libero_closes_above_one_half(value: float, command: float) -> None:
    assert grippers.xvla_libero_command(value) == command


@pytest.mark.parametrize(("value", "command"), [(0, 1), (0.79999, 1), (0.8, -1), (1, -1)])
def test_xvla_on_calvin_opens_below_its_threshold_and_not_at_it(value: float, command: float) -> None:
    assert grippers.xvla_calvin_command(value) == command


@pytest.mark.parametrize(("opening", "command"), [(0, 1), (0.5, 1), (0.50001, -1), (1, -1)])
def test_starvla_on_libero_answers_an_opening(opening: float, command: float) -> None:
    assert grippers.starvla_libero_command(opening) == command
