"""Does what LIBERO asks for, from poses the simulator tells.

    proctor bench eval libero-v1 --suite object --episodes 3 \\
        --policy examples/policies/libero_oracle.py:LiberoOracle
    proctor bench eval libero-xvla-v1 --suite object --episodes 3 \\
        --policy examples/policies/libero_oracle.py:LiberoTargetOracle

It reads a privileged feature, so its runs say that they used one. It does what the task's sentence asks for,
one job after the other: puts things into or onto others, opens and closes drawers, turns a stove on. A task
that it cannot do is refused when its episode begins. It goes from point to point and decides one step at a
time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from libero_furniture import DRAWER_CLOSED_Y, DRAWER_OPEN_Y, body_of, closed, level_of, opened, turned_on
from libero_placing import cannot_put, put
from libero_scene import Matrix, Pose, Stage, Vector, poses_of
from libero_sentences import Job, jobs_of
from numpy.typing import NDArray

from proctor.actions.rot6d import matrix_from_columns
from proctor.actions.rotations import (
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
NEAR_RAD: Final = 0.15
"""A hand is turned as it should within this."""


@dataclass
class Plan:
    """What is left of an episode."""

    jobs: list[Job]
    regions: bool
    """Places are told as regions of furniture."""
    orientation: Matrix | None = None
    """Of the hand when the episode began."""
    stages: list[Stage] = field(default_factory=list)
    taken: int = 0


class LiberoOracle(Policy):
    """See docs/benchmarks/libero.md for its rates."""

    def __init__(self) -> None:
        self._plans: dict[str, Plan] = {}

    def load(self, context: SessionContext) -> PolicyCapabilities:
        return PolicyCapabilities(
            supported_benchmarks=("libero", "libero_plus"),
            required_features=(STATE, POSES),
            max_batch_size=16,
            batch_invariant=True,
        )

    def reset(self, context: EpisodeContext) -> None:
        """Raises ValueError for a task that it cannot do."""
        instruction = context.instruction or ""
        jobs = jobs_of(context.task_id, instruction)
        reasons = [refusal(job) for job in jobs] if jobs else ["it does not understand the sentence"]
        if any(reasons):
            reason = next(filter(None, reasons))
            raise ValueError(f"no plan for task {context.task_id!r}, {instruction!r}: {reason}")
        self._plans[context.episode_id] = Plan(jobs, names_regions(context.task_id))

    def act(self, observation: Observation) -> ActionChunk:
        """Raises ValueError where the scene does not say where its things are."""
        state = np.asarray(observation.features[STATE], np.float64)
        poses = np.asarray(observation.features[POSES], np.float64)
        return ActionChunk(_next_action(self._plans[observation.episode_id], state, poses))

    def end_episode(self, episode_id: str) -> None:
        self._plans.pop(episode_id, None)


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


def refusal(job: Job) -> str:
    """Why a job cannot be done; empty where it can."""
    if job.where:
        return cannot_put(job)
    if job.verb in ("open", "close") and not level_of(job.what):
        return f"it cannot {job.verb} the {job.what}"
    if job.verb == "open" and level_of(job.what) == "bottom":
        return "it cannot come from the front at a handle so near the table"
    return "it cannot see how far a stove is turned on" if job.verb == "turn off" else ""


def stages_of(job: Job, poses: list[Pose], regions: bool) -> list[Stage]:
    """What a job takes. `regions`: places are told as regions of furniture, not as furniture."""
    place, level = poses[job.place], level_of(job.what)
    if job.where:
        return put(job, poses[job.thing], place, regions)
    if job.verb == "open":
        return opened(body_of(place, level, DRAWER_CLOSED_Y) if regions else place, level)
    if job.verb == "close":
        return closed(body_of(place, level, DRAWER_OPEN_Y) if regions else place, level)
    return turned_on(place)


def names_regions(task: str) -> bool:
    """Whether a task's scene tells regions of furniture, the inside of a drawer for instance, where others
    tell the furniture."""
    return task.startswith("goal-") or "-task-" in task


def _next_action(plan: Plan, state: Vector, rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Go on with the stage, or with the next one, or with the next job's first; stay at the last."""
    if plan.orientation is None:
        plan.orientation = _matrix(state)
        plan.stages = _begin(plan, rows)
    stage = plan.stages[0]
    if _arrived(stage, plan.orientation, state) or plan.taken >= stage.steps:
        following = plan.stages[1:] or (_begin(plan, rows) if plan.jobs else [])
        if following:
            plan.stages, plan.taken, stage = following, 0, following[0]
    plan.taken += 1
    turn = _missing_turn(stage, plan.orientation, state)
    move = (stage.position - state[:3]) / REACH_M
    action = np.concatenate([move, turn / TURN_RAD, [stage.gripper]])
    clipped: NDArray[np.float64] = np.clip(action, -1, 1)
    return clipped.astype(np.float32)


def _arrived(stage: Stage, orientation: Matrix, state: Vector) -> bool:
    turned = np.linalg.norm(_missing_turn(stage, orientation, state)) < NEAR_RAD
    return bool(turned and np.linalg.norm(stage.position - state[:3]) < stage.within_m)


def _missing_turn(stage: Stage, orientation: Matrix, state: Vector) -> Vector:
    """Rotation vector, in the world."""
    wanted = matrix_from_rotation_vector(stage.turn) @ orientation
    return rotation_vector_from_matrix(wanted @ _matrix(state).T)


def _begin(plan: Plan, rows: NDArray[np.float64]) -> list[Stage]:
    """The next job, from where things are now."""
    job, poses = plan.jobs.pop(0), poses_of(rows)
    if max(job.thing, job.place) >= len(poses) or not poses or (job.where and len(poses) < 2):
        raise ValueError(f"to {job.verb} the {job.what}: the scene tells {len(poses)} poses, too few")
    return stages_of(job, poses, plan.regions)


def _matrix(state: Vector) -> NDArray[np.float64]:
    return matrix_from_wxyz(wxyz_from_xyzw(state[3:7]))
