"""Frames of a MuJoCo model: their size, which way up they are, whose they are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from proctor.launch import environments, graphics

HERE = Path(__file__).parent

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def found() -> Any:
    """What `mujoco_frames_probe.py` finds in an interpreter that has MuJoCo."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(HERE.parents[1] / "src"),
        "MUJOCO_GL": graphics.choose().backend,
    }
    command = [environments.interpreter("tabletop"), HERE / "mujoco_frames_probe.py"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("orientation", "red", "green"),
    [
        ("upright", ["top", "middle"], ["middle", "right"]),
        ("rotated-180", ["bottom", "middle"], ["middle", "left"]),
        ("flipped-vertical", ["bottom", "middle"], ["middle", "right"]),
    ],
)
def test_a_frame_is_turned_as_its_feature_says(
    found: Any, orientation: str, red: list[str], green: list[str]
) -> None:
    assert found["orientations"][orientation] == {"red": red, "green": green}


def test_features_of_several_sizes_share_one_context(found: Any) -> None:
    shape, dtype, places = found["sizes"]["small"]
    assert (shape, dtype) == ([24, 32, 3], "uint8")
    assert places == found["orientations"]["upright"]
    assert found["sizes"]["large"][:2] == [[600, 800, 3], "uint8"]


@pytest.mark.parametrize("promise", ["a frame stays", "a frame is the caller's"])
def test_frames_are_copies(found: Any, promise: str) -> None:
    assert found["copies"][promise]


def test_closing_a_lanes_frames_leaves_those_of_another_alone(found: Any) -> None:
    assert found["contexts"]


@pytest.mark.parametrize(("changed", "kept"), [("box", True), ("texture", False), ("floor", False)])
def test_another_model_is_shown_as_in_a_new_context_which_is_made_only_for_other_assets(
    found: Any, changed: str, kept: bool
) -> None:
    assert found["models"][changed] == {"other picture": True, "as new": True, "kept": kept}


def test_frames_may_be_closed_before_the_first_and_twice(found: Any) -> None:
    assert found["closing"]


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ("another", "UnknownNameError: unknown camera of images.one 'abvoe'; did you mean 'above'"),
        ("none", "UsageError: feature images.one: names no camera; valid: above, aside"),
    ],
)
def test_a_camera_that_is_none_is_refused_by_name(found: Any, camera: str, message: str) -> None:
    assert found["refusals"][camera].startswith(message)


def test_a_machine_without_opengl_lacks_something_and_is_told_what_it_was_told_to_use(found: Any) -> None:
    said = found["refusals"]["no OpenGL"]
    assert said.startswith("EnvironmentMissing: MuJoCo makes no OpenGL context here, with MUJOCO_GL=")
    assert said.endswith("unset it, so that one that works is chosen")


def test_a_view_may_start_with_the_bottom_row(found: Any) -> None:
    assert found["views"]["bottom"] == found["orientations"]["flipped-vertical"]


def test_a_view_may_hide_a_group_of_geometries(found: Any) -> None:
    assert found["views"]["hidden"] is None
