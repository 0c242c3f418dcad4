"""A scripted expert for both ALOHA tasks, written like any user's policy.

    proctor bench eval aloha-sim-v1 --policy examples/policies/aloha_expert.py:AlohaExpert

It asks for the simulator's object poses (a privileged feature, so its runs say that they used one) and plans
where each gripper is at which control step. Inverse kinematics turns the plan into joint targets; with
`representation` an end-effector one, the poses along that path are sent instead. It needs proctor's base
install only.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proctor.actions.kinematics import Pose, SerialChain
from proctor.actions.robots import vx300s
from proctor.actions.rotations import (
    Matrix,
    about_x,
    about_y,
    about_z,
    matrix_from_rotation_vector,
    rotation_vector_from_matrix,
)
from proctor.actions.xvla_ee import CONVENTIONS, ArmTarget, Convention, pack_action
from proctor.policy import (
    ActionChunk,
    EpisodeContext,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)

POSES = "privileged.environment_state"
JOINTS = "joint_abs_14"
HORIZON = 300
OPEN, CLOSED = 1.0, 0.0
CLOSES_BELOW = 0.3
"""Opening under which a gripper that can only be told to open or to close is told to close."""

# How a gripper points: down at 60 degrees towards the middle of the table, or level with its fingers upright.
LEFT_DOWN = about_y(math.radians(60))
RIGHT_DOWN = about_z(math.pi) @ about_y(math.radians(60))
LEFT_UPRIGHT = about_x(math.radians(90))

BENT_WRIST = (0.0, -0.6, 1.0, 0.0, 0.8, 0.0)
"""Joint angles (rad) of an arm that points down: of the two ways to reach a pose, the one without a twist."""

HOVER_Z = 0.12
GRASP_Z = 0.024
"""Height (m) of a grasp. Below 0.02 the fingertips press on the table, which keeps them from closing."""
SPAWN_Z = 0.05
"""Height (m) that objects start at and fall from; a blurred reading of it blurs the grasp's height."""
CUBE_MEETING = (0.0, 0.5, 0.25)
JOINING_Z = 0.2
PEG_BELOW_SOCKET = 0.012
"""How much lower (m) the middle of the peg lies on the table than that of the socket."""


class AlohaExpert(Policy):
    """Hands over the cube in 192 steps and inserts the peg in 217.

    `look` names an image feature to ask for as well: a run then sends real frames, which nobody looks at.
    `blur_mm` is how wrong, along each axis, the poses it reads may be: with 0 it hardly ever fails.
    `representation` is the benchmark's name of what it answers with.
    """

    def __init__(
        self,
        look: str | None = None,
        blur_mm: float = 0.0,
        chunk: int = 50,
        representation: str = JOINTS,
    ) -> None:
        if representation not in (JOINTS, *CONVENTIONS):
            known = ", ".join((JOINTS, *CONVENTIONS))
            raise ValueError(f"no plan in representation {representation!r}; only in {known}")
        self._representation = representation
        self._look = look
        self._blur = blur_mm / 1000
        self._chunk = chunk
        self._episodes: dict[str, EpisodeContext] = {}
        self._plans: dict[str, NDArray[np.float32]] = {}

    def load(self, context: SessionContext) -> PolicyCapabilities:
        looks = () if self._look is None else (self._look,)
        return PolicyCapabilities(
            supported_benchmarks=("aloha",),
            required_features=("state.joints", POSES, *looks),
            supported_action_chunk_sizes=(self._chunk,),
            action_representations={"aloha": self._representation},
            uses_seed=self._blur > 0,
        )

    def reset(self, context: EpisodeContext) -> None:
        self._episodes[context.episode_id] = context
        self._plans.pop(context.episode_id, None)

    def act(self, observation: Observation) -> ActionChunk:
        key = observation.episode_id
        if key not in self._plans:
            self._plans[key] = self._plan(self._episodes[key], observation)
        plan = self._plans[key]
        steps = np.arange(observation.step, observation.step + self._chunk)
        return ActionChunk(plan[np.minimum(steps, len(plan) - 1)])

    def end_episode(self, episode_id: str) -> None:
        self._episodes.pop(episode_id, None)
        self._plans.pop(episode_id, None)

    def _plan(self, context: EpisodeContext, observation: Observation) -> NDArray[np.float32]:
        poses = np.asarray(observation.features[POSES], dtype=np.float64).reshape(2, 7)
        blur = np.random.default_rng(context.policy_seed or 0).uniform(-self._blur, self._blur, (2, 3))
        first, second = poses[:, :3] + blur
        if context.task_id == "transfer-cube":
            moves = plan_transfer(first)
        elif context.task_id == "insertion":
            moves = plan_insertion(first, second)
        else:
            raise ValueError(f"no plan for task {context.task_id!r}; only for transfer-cube and insertion")
        steps = context.horizon or HORIZON
        if self._representation == JOINTS:
            return joint_targets(moves, steps)
        return end_effector_targets(moves, steps, CONVENTIONS[self._representation])


@dataclass(frozen=True)
class Keyframe:
    """Where one gripper is at one control step."""

    step: int
    position: tuple[float, float, float]
    rotation: Matrix
    gripper: float


@dataclass(frozen=True)
class ArmPlan:
    """The keyframes of one arm, in time order, and joint angles near which the first one is looked for."""

    posture: tuple[float, ...]
    keyframes: list[Keyframe]


Moves = dict[vx300s.Side, ArmPlan]


def plan_transfer(cube: NDArray[np.float64]) -> Moves:
    """The right arm lifts the cube to the meeting point, the left one takes it there from the side."""
    x, y, z = CUBE_MEETING
    waiting, taking = (x - 0.12, y, z), (x - 0.01, y, z)
    giver = [
        *grasp(cube, RIGHT_DOWN),
        Keyframe(150, (x, y, z), RIGHT_DOWN, CLOSED),
        Keyframe(215, (x, y, z), RIGHT_DOWN, CLOSED),
        Keyframe(225, (x, y, z), RIGHT_DOWN, OPEN),
        Keyframe(255, (x + 0.1, y, z + 0.05), RIGHT_DOWN, OPEN),
    ]
    taker = [
        Keyframe(110, waiting, LEFT_UPRIGHT, OPEN),
        Keyframe(150, waiting, LEFT_UPRIGHT, OPEN),
        Keyframe(185, taking, LEFT_UPRIGHT, OPEN),
        Keyframe(190, taking, LEFT_UPRIGHT, CLOSED),
    ]
    return {"left": ArmPlan(vx300s.START_JOINTS, taker), "right": ArmPlan(BENT_WRIST, giver)}


def plan_insertion(peg: NDArray[np.float64], socket: NDArray[np.float64]) -> Moves:
    """The right arm lifts the peg and the left one the socket; then both push together along x."""
    return {
        "left": ArmPlan(BENT_WRIST, _lift_and_push(socket, -1, JOINING_Z, LEFT_DOWN)),
        "right": ArmPlan(BENT_WRIST, _lift_and_push(peg, 1, JOINING_Z + PEG_BELOW_SOCKET, RIGHT_DOWN)),
    }


def _lift_and_push(thing: NDArray[np.float64], side: int, z: float, rotation: Matrix) -> list[Keyframe]:
    apart, together = (side * 0.11, 0.5, z), (side * 0.03, 0.5, z)
    return [
        *grasp(thing, rotation),
        Keyframe(160, apart, rotation, CLOSED),
        Keyframe(170, apart, rotation, CLOSED),
        Keyframe(240, together, rotation, CLOSED),
    ]


def grasp(thing: NDArray[np.float64], rotation: Matrix) -> list[Keyframe]:
    """Come from above, go down, close."""
    x, y, z = thing.tolist()
    height = GRASP_Z + z - SPAWN_Z
    return [
        Keyframe(50, (x, y, HOVER_Z), rotation, OPEN),
        Keyframe(80, (x, y, height), rotation, OPEN),
        Keyframe(83, (x, y, height), rotation, CLOSED),
        Keyframe(105, (x, y, height), rotation, CLOSED),
    ]


def joint_targets(moves: Moves, steps: int) -> NDArray[np.float32]:
    """Joint targets of both arms for every control step, (steps, 14): left arm, then right arm."""
    arms = [_arm_targets(vx300s.arm(side), moves[side], steps) for side in ("left", "right")]
    return np.concatenate(arms, axis=1).astype(np.float32)


def end_effector_targets(moves: Moves, steps: int, convention: Convention) -> NDArray[np.float32]:
    """Where the plan has both grippers at every control step, (steps, 20): left arm, then right arm."""
    left, right = (_arm_poses(vx300s.arm(side), moves[side], steps) for side in ("left", "right"))
    rows = [pack_action(*targets, convention) for targets in zip(left, right, strict=True)]
    return np.array(rows, dtype=np.float32)


def _arm_poses(chain: SerialChain, plan: ArmPlan, steps: int) -> list[ArmTarget]:
    """One per control step, on the very path of the joint targets."""
    return [
        ArmTarget(chain.forward(joints), opening < CLOSES_BELOW)
        for *joints, opening in _arm_targets(chain, plan, steps)
    ]


def _arm_targets(chain: SerialChain, plan: ArmPlan, steps: int) -> NDArray[np.float64]:
    """(steps, 7): six joints and the gripper.

    The first keyframe is approached in joint space: a straight line would stretch the wrist, where it has no
    certain solution. From there each step's search starts where the one before ended.
    """
    start, first = np.array(vx300s.START_JOINTS), plan.keyframes[0]
    joints = arrival = chain.solve(Pose(np.array(first.position), first.rotation), plan.posture).joints
    targets = np.empty((steps, 7))
    for row in range(steps):
        if row < first.step:
            share = (row + 1) / first.step
            targets[row] = (*(start + _eased(share) * (arrival - start)), share * first.gripper)
        else:
            pose, gripper = pose_at(plan.keyframes, row + 1)
            joints = chain.solve(pose, joints).joints
            targets[row] = (*joints, gripper)
    return targets


def pose_at(frames: list[Keyframe], step: int) -> tuple[Pose, float]:
    """Where the gripper is at `step`, and how open; after the last keyframe it stays there."""
    for before, after in itertools.pairwise(frames):
        if step <= after.step:
            return _between(before, after, (step - before.step) / (after.step - before.step))
    last = frames[-1]
    return Pose(np.array(last.position), last.rotation), last.gripper


def _between(before: Keyframe, after: Keyframe, share: float) -> tuple[Pose, float]:
    """On a straight line and in a steady turn, `share` (0 to 1) of the time from one to the other."""
    eased = _eased(share)
    start, end = np.array(before.position), np.array(after.position)
    turn = rotation_vector_from_matrix(after.rotation @ before.rotation.T)
    pose = Pose(start + eased * (end - start), matrix_from_rotation_vector(eased * turn) @ before.rotation)
    return pose, before.gripper + share * (after.gripper - before.gripper)


def _eased(share: float) -> float:
    """Time to distance, both 0 to 1, with no speed and no acceleration at either end."""
    return share**3 * (10 - 15 * share + 6 * share**2)
