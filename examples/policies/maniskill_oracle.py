"""ManiSkill's own motion planning: plans in a scene of its own, made from the same seed, and tells joints.

    proctor bench eval maniskill-wrist-v1 --episodes 10 \\
        --policy examples/policies/maniskill_oracle.py:ManiSkillOracle --policy-python env:maniskill

Upstream's planners come with the simulator and step it while they plan, so the policy runs in the simulator's
environment, with a second one beside the lane's. It reads the seed, a privileged feature: its runs say so.

They move slowly, for demonstrations. With `--policy-arg speed=2.4` some are done within the step limits of
`maniskill-v1`, and fail more often.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

import gymnasium
import mani_skill.envs  # noqa: F401  (registers the environments)
import numpy as np
from mani_skill.examples.motionplanning.panda.motionplanner import PandaArmMotionPlanningSolver
from numpy.typing import NDArray

from proctor.policy import (
    ActionChunk,
    EpisodeContext,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)

SEED: Final = "privileged.seed"
JOINTS: Final = "state.joints"
CHUNK: Final = 50
OPEN: Final = 1.0
WRIST: Final = "images.wrist"
"""A feature of benchmarks in which every task has the robot with the camera on its hand."""

SOLUTIONS: Final = "mani_skill.examples.motionplanning.panda.solutions"
LIMIT: Final = 0.9
"""Upstream's for joint velocities (rad/s) and accelerations (rad/s²), where a solution says nothing else."""


class ManiSkillOracle(Policy):
    """Of ten starts of each task it solves 69 of 80 on maniskill-wrist-v1."""

    def __init__(self, speed: float = 1.0) -> None:
        """`speed`: how much faster than upstream's planners."""
        self._speed = speed
        self._tasks: dict[str, str] = {}
        self._plans: dict[str, list[NDArray[np.float32]]] = {}
        self._robot: dict[str, Any] = {}
        self._scene: _Scene | None = None

    def load(self, context: SessionContext) -> PolicyCapabilities:
        warnings.filterwarnings("ignore")
        if any(feature.name == WRIST for feature in context.benchmark.features):
            self._robot = {"robot_uids": "panda_wristcam"}
        return PolicyCapabilities(
            supported_benchmarks=("maniskill",),
            required_features=(SEED, JOINTS),
            action_representations={"maniskill": "maniskill.pd-joint-pos-v1"},
            supported_action_chunk_sizes=tuple(range(1, CHUNK + 1)),
        )

    def reset(self, context: EpisodeContext) -> None:
        self._tasks[context.episode_id] = context.task_id

    def act(self, observation: Observation) -> ActionChunk:
        key = observation.episode_id
        if key not in self._plans:
            here = np.append(observation.features[JOINTS][:7], OPEN).astype(np.float32)
            seed = int(observation.features[SEED][0])
            self._plans[key] = self._scene_of(self._tasks[key]).plan(seed, self._speed) or [here]
        plan = self._plans[key]
        # What is over is held: the last action stays.
        self._plans[key] = plan[CHUNK:] or plan[-1:]
        return ActionChunk(np.stack(plan[:CHUNK]))

    def end_episode(self, episode_id: str) -> None:
        self._plans.pop(episode_id, None)
        self._tasks.pop(episode_id, None)

    def _scene_of(self, task: str) -> _Scene:
        """A scene is dear: one is kept, of the latest task."""
        if self._scene is None or self._scene.task != task:
            if self._scene is not None:
                self._scene.close()
            self._scene = _Scene(task, self._robot)
        return self._scene


class _Scene(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The planner's own simulation of one task; keeps the actions that it was stepped with."""

    def __init__(self, task: str, robot: dict[str, Any]) -> None:
        words = task.split("-")
        made: Any = gymnasium.make(
            "".join(map(str.capitalize, words)) + "-v1",
            obs_mode="none",
            reward_mode="none",
            control_mode="pd_joint_pos",
            sim_backend="physx_cpu",
            **robot,
        )
        super().__init__(made.unwrapped)
        self.task = task
        self._solution = import_module(f"{SOLUTIONS}.{'_'.join(words)}")
        self._actions: list[NDArray[np.float32]] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Make all anew: the planner's scene must start as the lane's does."""
        self._actions = []
        return self.env.reset(seed=seed, options={"reconfigure": True})

    def step(self, action: Any) -> Any:
        """The very numbers that the lane will be given."""
        self._actions.append(np.asarray(action, np.float32))
        return self.env.step(self._actions[-1])

    def plan(self, seed: int, speed: float) -> list[NDArray[np.float32]]:
        """Solve the start of a seed; as far as it goes where upstream finds no path and raises."""
        with _planning(self._solution, speed), contextlib.redirect_stdout(io.StringIO()):
            try:
                self._solution.solve(self, seed=seed)
            except (AttributeError, IndexError, TypeError, ValueError) as error:
                print(f"{self.task}, seed {seed}: {error!r}", file=sys.stderr)
        return self._actions


@contextlib.contextmanager
def _planning(solution: Any, speed: float) -> Iterator[None]:
    """Let a solution of upstream's, which makes its planner itself, make a faster one."""

    def planner(
        *args: Any, joint_vel_limits: float = LIMIT, joint_acc_limits: float = LIMIT, **kwargs: Any
    ) -> Any:
        return PandaArmMotionPlanningSolver(
            *args,
            joint_vel_limits=joint_vel_limits * speed,
            joint_acc_limits=joint_acc_limits * speed**2,
            **kwargs,
        )

    solution.PandaArmMotionPlanningSolver = planner
    try:
        yield
    finally:
        solution.PandaArmMotionPlanningSolver = PandaArmMotionPlanningSolver
