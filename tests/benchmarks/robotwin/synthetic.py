"""A synthetic upstream: the shape of RoboTwin's task objects, observations and text files.

Nothing here is a result of RoboTwin; its numbers are made up, and its sentences are not upstream's.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

GENERIC = [0.923381, 0.102598, -0.205196, 0.307794]
NEGATIVE_W = [-0.303046, 0.707107, -0.606092, 0.202031]

Array = NDArray[Any]


class UnStableError(Exception):
    """Named as upstream names it."""


def synthetic_observation() -> dict[str, Any]:
    """The nesting, keys, dtypes and shapes of upstream's `get_obs`."""
    frames = {
        name: {"rgb": np.full((240, 320, 3), value, np.uint8), "intrinsic_cv": np.eye(3)}
        for name, value in (("head_camera", 1), ("left_camera", 2), ("right_camera", 3))
    }
    left, right = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
    return {
        "observation": frames,
        "pointcloud": [],
        "joint_action": {
            "left_arm": left,
            "left_gripper": 1.0,
            "right_arm": right,
            "right_gripper": 0.25,
            "vector": np.array([*left, 1.0, *right, 0.25]),
        },
        "endpose": {
            "left_endpose": [0.1, 0.2, 0.3, *GENERIC],
            "left_gripper": 1.0,
            "right_endpose": [-0.1, 0.2, 0.35, *NEGATIVE_W],
            "right_gripper": 0.25,
        },
    }


class SyntheticPlanner:
    """Times joint paths; none is timed for a target beyond `reach`."""

    reach = 3.0

    def TOPP(self, path: Array, step: float, verbose: bool = False) -> tuple[Any, ...]:
        moved = np.ptp(np.asarray(path), axis=0).max()
        if moved == 0:
            raise ValueError("a path that goes nowhere")
        positions = np.asarray(path) if moved < self.reach else np.zeros((0, 6))
        return None, positions, positions, None, 1.0


class SyntheticRobot:
    """The parts of upstream's robot that are read."""

    def __init__(self) -> None:
        self.joints = np.zeros(12)
        self.left_entity = self.right_entity = SimpleNamespace(get_qpos=lambda: self.joints)
        self.left_mplib_planner, self.right_mplib_planner = SyntheticPlanner(), SyntheticPlanner()

    def left_plan_path(self, target: Array) -> dict[str, str]:
        return {"status": "Success" if target[0] < 1 else "Fail"}

    def right_plan_path(self, target: Array) -> dict[str, str]:
        return {"status": "Success" if target[0] < 1 else "Fail"}

    def get_left_arm_jointState(self) -> list[float]:
        arms = synthetic_observation()["joint_action"]
        return [*arms["left_arm"], arms["left_gripper"]]

    def get_right_arm_jointState(self) -> list[float]:
        arms = synthetic_observation()["joint_action"]
        return [*arms["right_arm"], arms["right_gripper"]]


class SyntheticTask:
    """Draws a number per reset, reaches its goal at the third action, and can be told to misbehave."""

    unstable: tuple[int, ...] = ()
    infeasible: tuple[int, ...] = ()
    sees = True
    crazy_random_light = False

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.robot: Any = None
        self.eval_success = False
        self.plan_success = True
        self.arguments: dict[str, Any] = {}

    def setup_demo(self, drawn_at: list[float] = [0.0], **arguments: Any) -> None:  # noqa: B006
        self.calls.append("setup_demo")
        if not self.sees:
            raise RuntimeError("failed to find a rendering device")  # in SAPIEN's words
        drawn_at[0] += 1  # as upstream changes a default argument in place
        np.random.seed(arguments["seed"])
        if self.robot is None:
            self.robot = SyntheticRobot()
            np.random.rand()  # as making a robot might
        self.arguments, self.seed = arguments, arguments["seed"]
        self.eval_success, self.steps, self.step_lim = False, 0, 400
        place = [np.random.rand(), random.random(), drawn_at[0]]
        self.robot.joints = np.zeros(12)
        pose = SimpleNamespace(p=np.array(place), q=np.array([1.0, 0.0, 0.0, 0.0]))
        actor = SimpleNamespace(get_pose=lambda: pose)
        drawer = SimpleNamespace(get_qpos=lambda: np.array([0.5]))
        self.scene = SimpleNamespace(
            get_all_actors=lambda: [actor],
            get_all_articulations=lambda: [self.robot.left_entity, drawer],
        )
        if self.seed in self.unstable:
            raise UnStableError(f"Objects is unstable in seed({self.seed})")

    def play_once(self) -> dict[str, Any]:
        return {"info": {"{A}": "001_cup/base0", "{B}": "blue mat", "{a}": "left"}}

    def check_success(self) -> bool:
        return self.seed not in self.infeasible

    def take_action(self, values: Array, action_type: str) -> None:
        print("step: 1 / 400", end="\r")
        self.calls.append(action_type)
        assert Path("assets").is_dir() or not os.environ.get("SYNTHETIC_STRICT")
        if values[0] == 99:
            raise RuntimeError("contact solver exploded")
        if action_type == "ee":
            self.robot.left_plan_path(values[:7])
            self.robot.right_plan_path(values[8:15])
        else:
            for planner, target in (
                (self.robot.left_mplib_planner, values[:6]),
                (self.robot.right_mplib_planner, values[7:13]),
            ):
                try:
                    planner.TOPP(np.vstack([np.zeros(6), target]), 1 / 250, verbose=True)
                except ValueError:
                    continue
        self.steps += 1
        self.eval_success = self.steps == 3

    def get_obs(self) -> dict[str, Any]:
        self.calls.append("get_obs")
        return synthetic_observation()

    def get_arm_pose(self, side: str) -> list[float]:
        pose: list[float] = synthetic_observation()["endpose"][f"{side}_endpose"]
        return pose

    def _update_render(self) -> None:
        self.calls.append("_update_render")

    def close_env(self, clear_cache: bool = False) -> None:
        self.calls.append(f"close_env({clear_cache})")


ARGUMENTS = {"clear_cache_freq": 2, "domain_randomization": {"random_light": False}}


def synthetic_texts(checkout: Path, task: str = "synthetic_task") -> None:
    """Synthetic templates and descriptions, in upstream's files."""
    templates = {
        "full_description": "synthetic",
        "seen": ["Synthetic: put {A} on {B} using {a}.", "Synthetic: {A} onto {B}.", "Synthetic: move {A}."],
        "unseen": ["Synthetic unseen: {A}, then {B}."],
    }
    things = {"raw_description": "cup", "seen": ["synthetic cup", "synthetic mug"], "unseen": []}
    for place, content in (
        (f"task_instruction/{task}.json", templates),
        ("objects_description/001_cup/base0.json", things),
    ):
        path = checkout / "description" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
