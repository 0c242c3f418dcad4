"""Picks up what a LIBERO task is about and puts it where it belongs, from poses the simulator tells.

    proctor bench eval libero-v1 --suite object --episodes 3 \\
        --policy examples/policies/libero_oracle.py:LiberoOracle
    proctor bench eval libero-xvla-v1 --suite object --episodes 3 \\
        --policy examples/policies/libero_oracle.py:LiberoTargetOracle

It reads a privileged feature, so its runs say that they used one. The tasks of the suites `object` and
`spatial` are what it knows: take one thing, put it into or onto another. It goes from point to point with
the hand as it was at the start, and decides one step at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.actions.rot6d import matrix_from_columns
from proctor.actions.rotations import (
    about_z,
    matrix_from_rotation_vector,
    matrix_from_wxyz,
    rotation_vector_from_matrix,
    wxyz_from_xyzw,
)
from proctor.policy import (
    ActionChunk,
    EpisodeContext,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)

STATE: Final = "state.proprioception"
POSES: Final = "privileged.objects_of_interest"
CONTROLLER: Final = "state.ee_rot6d_columns"

REACH_M: Final = 0.05
"""Displacement that 1 asks for."""
TURN_RAD: Final = 0.5
"""Turn that 1 asks for."""
OPEN, CLOSED = -1.0, 1.0

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Stage:
    """A point to be at, with the gripper open or closed."""

    position: Vector
    gripper: float
    steps: int
    """The most it may take."""
    within_m: float = 0.0
    """Near enough to go on; 0: all steps are taken."""


@dataclass
class Plan:
    """What is left of an episode."""

    stages: list[Stage]
    orientation: NDArray[np.float64]
    taken: int = 0


class LiberoOracle(Policy):
    """Of the first five episodes of the twenty tasks it succeeds in 98 of 100, in about 115 steps."""

    def __init__(self) -> None:
        self._plans: dict[str, Plan] = {}
        self._instructions: dict[str, str] = {}

    def load(self, context: SessionContext) -> PolicyCapabilities:
        return PolicyCapabilities(
            supported_benchmarks=("libero", "libero_plus"),
            required_features=(STATE, POSES),
            max_batch_size=16,
            batch_invariant=True,
        )

    def reset(self, context: EpisodeContext) -> None:
        self._plans.pop(context.episode_id, None)
        self._instructions[context.episode_id] = context.instruction or ""

    def act(self, observation: Observation) -> ActionChunk:
        state = np.asarray(observation.features[STATE], np.float64)
        key = observation.episode_id
        if key not in self._plans:
            poses = np.asarray(observation.features[POSES], np.float64)
            instruction = self._instructions[key]
            stages = plan_stages(instruction, poses[0, :3], poses[1, :3])
            turn = about_z(grasp_of(instruction).turn_rad)
            self._plans[key] = Plan(stages, turn @ _matrix(state))
        return ActionChunk(_next_action(self._plans[key], state))

    def end_episode(self, episode_id: str) -> None:
        self._plans.pop(episode_id, None)
        self._instructions.pop(episode_id, None)


class LiberoTargetOracle(LiberoOracle):
    """The same motion, told as where to be: for `libero-xvla-v1`."""

    def load(self, context: SessionContext) -> PolicyCapabilities:
        return replace(
            super().load(context),
            required_features=(STATE, POSES, CONTROLLER),
            action_representations={"libero": "libero.absolute-eef-v1"},
        )

    def act(self, observation: Observation) -> ActionChunk:
        move = np.asarray(super().act(observation).actions, np.float64).reshape(7)
        return ActionChunk(target_of(move, np.asarray(observation.features[CONTROLLER], np.float64)))


def target_of(move: Vector, controller: Vector) -> NDArray[np.float32]:
    """Where a displacement ends: what upstream's controller makes of it, from where it is."""
    orientation = matrix_from_rotation_vector(TURN_RAD * move[3:6]) @ matrix_from_columns(controller[3:9])
    turn = rotation_vector_from_matrix(orientation)
    return np.concatenate([controller[:3] + REACH_M * move[:3], turn, move[6:]]).astype(np.float32)


def plan_stages(instruction: str, thing: Vector, place: Vector) -> list[Stage]:
    """Over it, down, grasp, up, over the place, down, let go, up."""
    grasp = grasp_of(instruction)
    grip, drop = thing + grasp.offset, place + grasp.offset + [0, 0, grasp.drop_m]
    carry_z = max(grip[2], place[2]) + 0.2
    return [
        Stage(grip + OVER, OPEN, 60, 0.012),
        Stage(grip, OPEN, 40, 0.008),
        Stage(grip, CLOSED, 12),
        Stage(np.array([*grip[:2], carry_z]), CLOSED, 40, 0.03),
        Stage(np.array([*drop[:2], carry_z]), CLOSED, 80, 0.015),
        Stage(drop, CLOSED, 40, 0.015),
        Stage(drop, OPEN, 10),
        Stage(drop + OVER, OPEN, 60),
    ]


@dataclass(frozen=True)
class Grasp:
    """Where a thing is held, and how."""

    offset: Vector
    """From its centre to the point between the fingers, m."""
    drop_m: float
    """How far above the place it is let go."""
    turn_rad: float = 0.0
    """Of the hand about the vertical axis."""


OVER: Final = np.array([0.0, 0.0, 0.12])


def grasp_of(instruction: str) -> Grasp:
    """A bowl by its rim, anything else by its middle."""
    if "drawer" in instruction:
        return Grasp(np.array([-0.05, 0.0, 0.015]), 0.04, math.pi / 2)
    if "bowl" in instruction:
        return Grasp(np.array([0.0, 0.05, 0.015]), 0.04)
    if "cream cheese" in instruction:  # the hand is wide, and a can stands beside it
        return Grasp(np.array([-0.022, 0.0, 0.0]), 0.12)
    return Grasp(np.zeros(3), 0.12)


def _next_action(plan: Plan, state: Vector) -> NDArray[np.float32]:
    stage = plan.stages[0]
    arrived = np.linalg.norm(stage.position - state[:3]) < stage.within_m
    if len(plan.stages) > 1 and (arrived or plan.taken >= stage.steps):
        plan.stages.pop(0)
        plan.taken, stage = 0, plan.stages[0]
    plan.taken += 1
    turn = rotation_vector_from_matrix(plan.orientation @ _matrix(state).T)
    move = (stage.position - state[:3]) / REACH_M
    action = np.concatenate([move, turn / TURN_RAD, [stage.gripper]])
    clipped: NDArray[np.float64] = np.clip(action, -1, 1)
    return clipped.astype(np.float32)


def _matrix(state: Vector) -> NDArray[np.float64]:
    return matrix_from_wxyz(wxyz_from_xyzw(state[3:7]))
