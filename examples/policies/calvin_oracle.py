"""Does CALVIN's subtasks with where everything is told by the simulator.

    proctor bench eval calvin-abc-d-v1 --episodes 20 \\
        --policy examples/policies/calvin_oracle.py:CalvinOracle

It reads a privileged feature, so its runs say that they used one. It answers with where the hand is to be
(`calvin.absolute-compact-quat-v1`), a little further along its way at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from calvin_scene import SCENE, STATE, Matrix, Scene, Vector, scene_of
from calvin_skills import Aim, Stage, stages_of
from numpy.typing import NDArray

from proctor.actions.calvin_tcp import ABSOLUTE
from proctor.actions.rotations import (
    compact_from_wxyz,
    matrix_from_rotation_vector,
    rotation_vector_from_matrix,
    wxyz_from_matrix,
)
from proctor.benchmarks.calvin.subtasks import SUBTASKS
from proctor.policy import (
    ActionChunk,
    EpisodeContext,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)

STEP_M: Final = 0.015
"""How far a target moves in one step, at most."""
STEP_RAD: Final = 0.06
SETTLES: Final = 12
"""Steps after which a target that was reached by its way counts as reached by the hand."""
NEAR_M: Final = 0.006

BY_INSTRUCTION: Final = {subtask.instruction: name for name, subtask in SUBTASKS.items()}


@dataclass
class Progress:
    """Where a subtask is."""

    subtask: str
    target: Aim
    """Where the hand was last told to be."""
    gripper: int
    stages: list[Stage]
    """What is left; empty where there is nothing to do it with: the hand stays where it is."""
    aim: Aim
    """Of the first stage."""
    waited: int = 0
    """Steps that the target has been there."""

    def begin(self, stages: list[Stage], scene: Scene) -> None:
        """Go on with these."""
        self.stages, self.waited = stages, 0
        if stages:
            self.aim, self.gripper = stages[0].aims(scene), stages[0].gripper

    def is_done(self, scene: Scene) -> bool:
        """Whether the first stage is, as it has to be asked once in every step."""
        if not self.stages or not _is_same(self.target, self.aim):
            return False
        self.waited += 1
        there = np.linalg.norm(scene.hand - self.aim.position) < NEAR_M or self.waited > SETTLES
        return bool(there and self.waited > self.stages[0].waits)


class CalvinOracle(Policy):
    """See docs/benchmarks/calvin.md for its rates."""

    def __init__(self) -> None:
        self._subtasks: dict[str, str] = {}
        self._progress: dict[str, Progress] = {}

    def load(self, context: SessionContext) -> PolicyCapabilities:
        return PolicyCapabilities(
            supported_benchmarks=("calvin",),
            required_features=(STATE, SCENE),
            action_representations={"calvin": ABSOLUTE},
            max_batch_size=16,
            batch_invariant=True,
        )

    def reset(self, context: EpisodeContext) -> None:
        """Raises ValueError for an instruction that is none of the 34."""
        instruction = context.instruction or ""
        if instruction not in BY_INSTRUCTION:
            raise ValueError(f"no subtask of CALVIN is asked for by {instruction!r}")
        self._subtasks[context.episode_id] = BY_INSTRUCTION[instruction]
        self._progress.pop(context.episode_id, None)

    def act(self, observation: Observation) -> ActionChunk:
        scene, key = scene_of(observation), observation.episode_id
        if key not in self._progress:
            self._progress[key] = _begun(self._subtasks[key], scene)
        return ActionChunk(_next_action(self._progress[key], scene))

    def end_episode(self, episode_id: str) -> None:
        self._progress.pop(episode_id, None)
        self._subtasks.pop(episode_id, None)


def _begun(subtask: str, scene: Scene) -> Progress:
    here = Aim(scene.hand, scene.turn)
    progress = Progress(subtask, here, scene.gripper, [], here)
    progress.begin(stages_of(subtask, scene), scene)
    return progress


def _next_action(progress: Progress, scene: Scene) -> NDArray[np.float32]:
    """A step on the way of the first stage; after the last one all of it anew, if it has not succeeded."""
    if progress.is_done(scene):
        progress.begin(progress.stages[1:] or stages_of(progress.subtask, scene), scene)
    pace = progress.stages[0].pace if progress.stages else 1.0
    progress.target = _towards(progress.target, progress.aim, pace)
    compact = compact_from_wxyz(wxyz_from_matrix(progress.target.turn))
    return np.concatenate([progress.target.position, compact, [progress.gripper]]).astype(np.float32)


def _is_same(one: Aim, other: Aim) -> bool:
    return bool(np.allclose(one.position, other.position) and np.allclose(one.turn, other.turn, atol=1e-6))


def _towards(target: Aim, aim: Aim, pace: float) -> Aim:
    """One step further: position and orientation arrive together."""
    way: Vector = aim.position - target.position
    turn = rotation_vector_from_matrix(aim.turn @ target.turn.T)
    steps = max(np.linalg.norm(way) / STEP_M, np.linalg.norm(turn) / STEP_RAD) / pace
    if steps <= 1:
        return aim
    rotation: Matrix = matrix_from_rotation_vector(turn / steps) @ target.turn
    return Aim(target.position + way / steps, rotation)
