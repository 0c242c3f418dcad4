"""The `toy` family: a point mass on a square, in numpy alone.

A genuine environment, not a stand-in: it has dynamics, seeds, goals, frames and success checks, keeps every
rule of `proctor.benchmarks.contract`, and runs in any interpreter, in microseconds. It exists to test
what runs environments. Its numbers say nothing about robots.

The field is the square [-1, 1]², x to the right, y up. An action is a velocity, followed with a lag. A
version may give the mass a gripper, which grips nothing: a third number closes it, with the same lag.

    reach   the mass is within `RADIUS` of the goal
    park    the same, slower than `PARKED` per second
    cliff   `reach`, but leaving the field ends the episode instead of being stopped at the wall
    tour    two segments, one goal each; the second begins where the first ended

`BenchmarkDefinition.settings` may hold `step_s` (seconds every step takes, 0 by default) and `faults`, a list
of tables {kind, task, index, step, marker}: at that step of that episode (step 0 is `begin`) the environment
raises (`raise`), leaves the process (`exit`), dies of a signal (`kill`), sleeps (`hang`) or sleeps without
letting other threads run, for an hour (`wedge`) or three seconds (`stall`). `task` and `index` left out
match any. With `marker`, a path, a fault fires once: it makes that file first, and does not fire where the
file exists.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks.contract import Environment, Episode, Reset, StepResult
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.policy import FeatureValue

PERIOD: Final = 0.1
"""Seconds per control step."""
RADIUS: Final = 0.1
"""Distance, in field units, at which the goal counts as reached."""
PARKED: Final = 0.05
"""Speed, in field units per second, under which the mass counts as parked."""
LAG: Final = 0.5
"""Share of the gap between velocity and command that closes in one step."""
PIXELS: Final = 64
"""Height and width of the frame."""

_LONG_S: Final = 3600

Point = NDArray[np.float64]


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One planned misfortune; see the module's text."""

    kind: Literal["raise", "exit", "kill", "hang", "wedge", "stall"]
    step: int
    task: str | None = None
    index: int | None = None
    marker: str | None = None

    def strikes(self, episode: Episode, step: int) -> bool:
        """Whether this is its moment; makes the marker if so."""
        if (
            step != self.step
            or self.task not in (None, episode.task)
            or self.index not in (None, episode.index)
        ):
            return False
        if self.marker is None:
            return True
        try:
            Path(self.marker).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


class ToyEnvironment:
    """One point mass. Keeps the rules of `proctor.benchmarks.contract.Environment`."""

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """`action`: a velocity, and the gripper's closedness where there is a third number."""
        self._task = task
        self._step_s = float(definition.settings.get("step_s", 0.0))
        self._faults = msgspec.convert(definition.settings.get("faults", []), list[Fault])
        self._known = {feature.name for feature in definition.features}
        self._episode: Episode | None = None
        self._position: Point = np.zeros(2)
        self._velocity: Point = np.zeros(2)
        self._closedness = 0.0
        self._goals: Point = np.zeros((1, 2))
        self._segment = self._step = 0

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Place mass and goals. `initial_state`: position 2, velocity 2, then 2 per goal."""
        self._refuse_unknown(observe)
        state = initial_state(episode)
        self._episode, self._segment, self._step = episode, 0, 0
        self._position, self._velocity, self._goals = state[:2], state[2:4], state[4:].reshape(-1, 2)
        self._closedness = 0.0
        self._suffer()
        observation = self._observe(observe)
        return Reset(observation=observation, initial_state=state.copy(), success=self._succeeds())

    def step(self, action: NDArray[Any], observe: Collection[str] = ()) -> StepResult:
        """Move for one period. `action`: (2,) velocity in field units per second, or (3,) with closedness."""
        self._refuse_unknown(observe)
        self._step += 1
        self._suffer()
        if self._step_s:
            time.sleep(self._step_s)
        self._velocity = self._velocity + LAG * (np.asarray(action[:2], np.float64) - self._velocity)
        if len(action) > 2:
            self._closedness += LAG * (float(action[2]) - self._closedness)
        wanted = self._position + PERIOD * self._velocity
        self._position = np.clip(wanted, -1.0, 1.0)
        outside = bool(np.any(wanted != self._position))
        return StepResult(
            terminated=outside and self._task.id == "cliff",
            success=self._succeeds(),
            observation=self._observe(observe),
            events=("touched the wall",) if outside else (),
            metrics={"distance": self._distance()},
        )

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, FeatureValue]:
        """Turn to the goal of segment `number`."""
        self._refuse_unknown(observe)
        self._segment = number
        return self._observe(observe)

    def hold_action(self, last: NDArray[Any] | None) -> NDArray[Any]:
        """Stand still, the gripper as it was last commanded."""
        hold = np.zeros(2 if last is None else len(last), np.float32)
        hold[2:] = 0.0 if last is None else last[2:]
        return hold

    def close(self) -> None:
        """Nothing to release."""
        self._episode = None

    def _distance(self) -> float:
        return float(np.linalg.norm(self._position - self._goals[self._segment]))

    def _succeeds(self) -> bool:
        slow = self._task.id != "park" or float(np.linalg.norm(self._velocity)) < PARKED
        return self._distance() < RADIUS and slow

    def _observe(self, names: Collection[str]) -> dict[str, FeatureValue]:
        return {name: _SENSORS[name](self) for name in names}

    def _refuse_unknown(self, names: Collection[str]) -> None:
        for name in names:
            if name not in self._known:
                raise UnknownNameError("feature", name, self._known)

    def _suffer(self) -> None:
        assert self._episode is not None, "begin comes first"
        for fault in self._faults:
            if fault.strikes(self._episode, self._step):
                _MISFORTUNES[fault.kind]()

    def _frame(self) -> NDArray[np.uint8]:
        frame = np.full((PIXELS, PIXELS, 3), 32, np.uint8)
        frame[_disc(self._goals[self._segment])] = (0, 200, 0)
        frame[_disc(self._position)] = (220, 0, 0)
        return frame

    def _proprioception(self) -> NDArray[np.float32]:
        values = np.concatenate([self._position, self._velocity])
        return values.astype(np.float32)

    def _goal(self) -> NDArray[np.float32]:
        goal: Point = self._goals[self._segment]
        return goal.astype(np.float32)

    def _instruction(self) -> str:
        assert self._episode is not None, "begin comes first"
        return self._episode.segments[self._segment].instruction


_SENSORS: dict[str, Callable[[ToyEnvironment], FeatureValue]] = {
    "images.primary": ToyEnvironment._frame,
    "images.mirror": lambda toy: toy._frame()[:, ::-1].copy(),
    "state.proprioception": ToyEnvironment._proprioception,
    "state.gripper": lambda toy: np.array([toy._closedness], np.float32),
    "privileged.goal": ToyEnvironment._goal,
    "language.instruction": ToyEnvironment._instruction,
}


def initial_state(episode: Episode) -> NDArray[np.float64]:
    """Where mass and goals of an episode are at its start; see `ToyEnvironment.begin` for the order."""
    random = np.random.Generator(np.random.PCG64(episode.seed))
    position, goals = random.uniform(-0.8, 0.8, 2), random.uniform(-0.8, 0.8, 2 * len(episode.segments))
    return np.concatenate([position, np.zeros(2), goals])


def _disc(centre: Point) -> NDArray[np.bool_]:
    middles = (np.arange(PIXELS) + 0.5) * (2.0 / PIXELS) - 1.0
    x, y = middles[None, :], -middles[:, None]
    inside: NDArray[np.bool_] = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 < RADIUS**2
    return inside


def _raise() -> None:
    raise BenchmarkFault("a planned fault of the toy environment")


def _sleep_holding_the_lock(seconds: int) -> None:
    ctypes.PyDLL(None).sleep(seconds)


_MISFORTUNES: dict[str, Callable[[], None]] = {
    "raise": _raise,
    "exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hang": lambda: time.sleep(_LONG_S),
    "wedge": lambda: _sleep_holding_the_lock(_LONG_S),
    "stall": lambda: _sleep_holding_the_lock(3),
}


class ToyFamily:
    """Makes toy environments."""

    name = "toy"

    def open(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> Environment:
        """Make a lane for one task."""
        return ToyEnvironment(definition, task, action)

    def packages(self) -> Mapping[str, str]:
        """numpy is all it needs."""
        return {"numpy": np.__version__}


FAMILY: Final = ToyFamily()
