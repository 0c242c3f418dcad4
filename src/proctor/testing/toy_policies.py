"""Policies for the `toy` benchmark: some that work, and one that goes wrong in whatever way it is told."""

from __future__ import annotations

import os
import time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UnknownNameError
from proctor.policy import (
    ActionChunk,
    EpisodeContext,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)
from proctor.testing.toy import LAG, PERIOD, PIXELS

HOOKS: Final = ("load", "reset", "act", "end_episode", "unload")

Vector = NDArray[np.float64]


class PixelPolicy(Policy):
    """Finds the goal in the frame and goes there. Succeeds almost always."""

    features: tuple[str, ...] = ("images.primary", "state.proprioception")
    uses_seed = False

    def __init__(self, chunk: int = 1, max_batch_size: int = 1) -> None:
        self.chunk, self.max_batch_size = chunk, max_batch_size

    def load(self, context: SessionContext) -> PolicyCapabilities:
        """Declare the features it needs and one chunk size."""
        return PolicyCapabilities(
            supported_benchmarks=("toy",),
            required_features=self.features,
            max_batch_size=self.max_batch_size,
            supported_action_chunk_sizes=(self.chunk,),
            batch_invariant=True,
            uses_seed=self.uses_seed,
        )

    def act(self, observation: Observation) -> ActionChunk:
        """Plan `chunk` velocities towards the goal."""
        state = np.asarray(observation.features["state.proprioception"], np.float64)
        return ActionChunk(self.plan(state, self.goal(observation), observation))

    def goal(self, observation: Observation) -> Vector:
        """Centre of the green pixels; the mass hides the goal only where it covers it."""
        frame = np.asarray(observation.features["images.primary"])
        rows, columns = np.nonzero(frame[..., 1] > 128)
        if not rows.size:
            return np.asarray(observation.features["state.proprioception"], np.float64)[:2]
        return (np.array([columns.mean(), PIXELS - 1 - rows.mean()]) + 0.5) * (2.0 / PIXELS) - 1.0

    def plan(self, state: Vector, goal: Vector, observation: Observation) -> NDArray[np.float32]:
        """Roll the dynamics forward under a proportional command."""
        position, velocity = state[:2], state[2:]
        actions = np.empty((self.chunk, 2), np.float32)
        for step in range(self.chunk):
            actions[step] = np.clip(3.0 * (goal - position), -1.0, 1.0)
            velocity = velocity + LAG * (actions[step] - velocity)
            position = position + PERIOD * velocity
        return actions


class ExpertPolicy(PixelPolicy):
    """Reads the goal from the privileged feature. Succeeds on every task."""

    features = ("privileged.goal", "state.proprioception")

    def goal(self, observation: Observation) -> Vector:
        """The goal itself."""
        return np.asarray(observation.features["privileged.goal"], np.float64)


class StatePolicy(PixelPolicy):
    """Knows nothing of the goal and goes to the middle: fails most episodes, and needs no frame."""

    features = ("state.proprioception",)

    def goal(self, observation: Observation) -> Vector:
        """The middle of the field."""
        return np.zeros(2)


class RandomPolicy(PixelPolicy):
    """Draws every action from the seed it is given: equal seeds give equal actions in any order."""

    features = ("state.proprioception",)
    uses_seed = True

    def goal(self, observation: Observation) -> Vector:
        """No goal."""
        return np.zeros(2)

    def plan(self, state: Vector, goal: Vector, observation: Observation) -> NDArray[np.float32]:
        """Uniform velocities."""
        random = np.random.Generator(np.random.PCG64(observation.seed))
        return random.uniform(-1.0, 1.0, (self.chunk, 2)).astype(np.float32)


class MoodyPolicy(ExpertPolicy):
    """An expert in episodes whose policy seed is even; stands still in the others."""

    uses_seed = True

    def __init__(self, chunk: int = 1, max_batch_size: int = 1) -> None:
        super().__init__(chunk, max_batch_size)
        self._works: dict[str, bool] = {}

    def reset(self, context: EpisodeContext) -> None:
        """Take the episode's mood from its seed."""
        assert context.policy_seed is not None
        self._works[context.episode_id] = context.policy_seed % 2 == 0

    def plan(self, state: Vector, goal: Vector, observation: Observation) -> NDArray[np.float32]:
        """Work or do not."""
        actions = super().plan(state, goal, observation)
        return actions if self._works[observation.episode_id] else np.zeros_like(actions)

    def end_episode(self, episode_id: str) -> None:
        """Forget the mood."""
        self._works.pop(episode_id, None)


class FaultyPolicy(ExpertPolicy):
    """An expert until `hook` is called (for `act`: with control step `step` or later), then `fault`.

    Any hook: `raise`, `hang`, `exit` (the process ends). `act` alone: `nan`, `inf`, `huge`, `float64`, `int`,
    `flat` (one action, no chunk axis), `long` (three values per action), `empty`, `list`, `none`, `object`.
    `task`: only in episodes of this task.
    """

    def __init__(self, fault: str, hook: str = "act", step: int = 0, task: str | None = None) -> None:
        super().__init__()
        if hook not in HOOKS:
            raise UnknownNameError("hook", hook, HOOKS)
        valid = {*_ANYWHERE, *_REPLIES} if hook == "act" else set(_ANYWHERE)
        if fault not in valid:
            raise UnknownNameError("fault", fault, valid)
        self._fault, self._hook, self._step, self._task = fault, hook, step, task
        self._tasks: dict[str, str] = {}

    def load(self, context: SessionContext) -> PolicyCapabilities:
        """Load, or go wrong."""
        self._go_wrong_in("load")
        return super().load(context)

    def reset(self, context: EpisodeContext) -> None:
        """Begin an episode, or go wrong."""
        self._tasks[context.episode_id] = context.task_id
        if self._concerns(context.episode_id):
            self._go_wrong_in("reset")

    def act(self, observation: Observation) -> ActionChunk:
        """Act, or go wrong."""
        chunk = super().act(observation)
        if self._hook != "act" or observation.step < self._step or not self._concerns(observation.episode_id):
            return chunk
        if self._fault in _ANYWHERE:
            _ANYWHERE[self._fault]()
        reply: ActionChunk = _REPLIES[self._fault](chunk.actions)
        return reply

    def end_episode(self, episode_id: str) -> None:
        """End an episode, or go wrong."""
        concerned = self._concerns(episode_id)
        self._tasks.pop(episode_id, None)
        if concerned:
            self._go_wrong_in("end_episode")

    def unload(self) -> None:
        """Unload, or go wrong."""
        self._go_wrong_in("unload")

    def _concerns(self, episode_id: str) -> bool:
        return self._task is None or self._tasks.get(episode_id) == self._task

    def _go_wrong_in(self, hook: str) -> None:
        if hook == self._hook:
            _ANYWHERE[self._fault]()


def _raise() -> None:
    raise RuntimeError("a planned fault of the toy policy")


_ANYWHERE: dict[str, Any] = {
    "raise": _raise,
    "hang": lambda: time.sleep(3600),
    "exit": lambda: os._exit(3),
}

_REPLIES: dict[str, Any] = {
    "nan": lambda actions: ActionChunk(np.full_like(actions, np.nan)),
    "inf": lambda actions: ActionChunk(np.full_like(actions, np.inf)),
    "huge": lambda actions: ActionChunk(np.full_like(actions, 1e30)),
    "float64": lambda actions: ActionChunk(actions.astype(np.float64)),
    "int": lambda actions: ActionChunk(actions.astype(np.int32)),
    "flat": lambda actions: ActionChunk(actions[0]),
    "long": lambda actions: ActionChunk(np.zeros((len(actions), 3), np.float32)),
    "empty": lambda actions: ActionChunk(actions[:0]),
    "list": lambda actions: actions.tolist(),
    "none": lambda actions: None,
    "object": lambda actions: ActionChunk(actions.astype(object)),
}
