"""docs/reference/actions.md states what the code does."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from proctor.actions import REPRESENTATIONS, differential_ik, grippers, kinematics
from proctor.actions.xvla_ee import CONVENTIONS

PATH = Path(__file__).parents[2] / "docs" / "reference" / "actions.md"
PAGE = PATH.read_text(encoding="utf-8")


def test_the_examples_are_true() -> None:
    found = doctest.testfile(str(PATH), module_relative=False)
    assert found.attempted >= 10
    assert found.failed == 0


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_every_representation_is_listed_with_its_size(name: str) -> None:
    assert f"| `{name}` | {REPRESENTATIONS[name].dimension} |" in PAGE


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_convention_is_named(name: str) -> None:
    assert f"| `{name}` | `{CONVENTIONS[name].name}` |" in PAGE


def test_every_gripper_map_is_on_the_page() -> None:
    maps = [
        name
        for name, value in vars(grippers).items()
        if callable(value) and value.__module__ == grippers.__name__
    ]
    inverses = {"opening_of_closing_signal"}
    assert [name for name in maps if name not in inverses and f"{name}" not in PAGE] == []


def test_the_limits_of_inverse_kinematics_are_the_ones_stated() -> None:
    ik = differential_ik
    stated = [
        f"within {1000 * ik.REACHED_M:g} mm and {ik.REACHED_RAD:g} rad",
        f"further than {1000 * ik.AFRESH_M:g} mm or {ik.AFRESH_RAD:g} rad",
        f"at most {kinematics.MAX_ITERATIONS} iterations of at most {kinematics.STEP_CAP_RAD:g} rad",
    ]
    assert [statement for statement in stated if statement not in PAGE] == []
    assert ik.MUCH_NEARER == 0.5
