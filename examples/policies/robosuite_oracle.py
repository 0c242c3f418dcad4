"""Solves tasks of robosuite-v1, and the pot of robosuite-two-arm-v1, from poses that the simulator tells.

    proctor bench eval robosuite-v1 --tasks lift,can --episodes 3 \\
        --policy examples/policies/robosuite_oracle.py:RobosuiteOracle
    proctor bench eval robosuite-two-arm-v1 --tasks two-arm-lift --episodes 3 \\
        --policy examples/policies/robosuite_oracle.py:RobosuiteOracle

It reads a privileged feature, so its runs say that they used one. Hands point straight down and go from stage
to stage; where a hand is to be follows from where things are now, one step at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.actions.rotations import (
    about_z,
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
POSES: Final = "privileged.poses"
PER_ROBOT: Final = 16
"""Numbers of the state."""

REACH_M: Final = 0.05
"""Displacement that 1 asks for."""
TURN_RAD: Final = 0.5
"""Turn that 1 asks for."""
HASTE: Final = 2.5
"""How much more than what is missing is asked for: far out, the arm stops short of what it is asked for."""
NEAR_RAD: Final = 0.1
"""A hand is turned as it should within this."""
OPEN, CLOSED = -1.0, 1.0
BASES: Final = (math.pi / 2, -math.pi / 2)
"""How two robots face to face stand in the world, about the vertical axis."""

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Scene:
    """What is seen in one step."""

    hands: tuple[Vector, ...]
    """Per robot: the point between the fingers, m."""
    turns: tuple[Matrix, ...]
    """Per robot: the hand's orientation. Its second column is the direction in which the fingers close."""
    places: NDArray[np.float64]
    """(things, 3) m, in the order of the task's settings."""
    orientations: tuple[Matrix, ...]
    """Of the things."""


@dataclass(frozen=True)
class Aim:
    """Where one hand is to be."""

    position: Vector
    across: Vector
    """Horizontal direction in which the fingers are to close, or against it."""


Aims = Callable[[Scene, Scene], tuple[Aim, ...]]
"""Of every robot, from the scene now and the one in which the stage began."""


@dataclass(frozen=True)
class Stage:
    """A part of a way, with grippers open or closed."""

    aims: Aims
    gripper: float
    steps: int
    """The most it may take."""
    within_m: float = 0.0
    """Near enough, for every hand, to go on, once it is turned as it should; 0: all steps are taken."""


@dataclass
class Progress:
    """Where an episode is."""

    stages: list[Stage]
    began: Scene
    taken: int = 0


class RobosuiteOracle(Policy):
    """See the table in docs/benchmarks/robosuite.md for its rates."""

    def __init__(self) -> None:
        self._tasks: dict[str, str] = {}
        self._progress: dict[str, Progress] = {}

    def load(self, context: SessionContext) -> PolicyCapabilities:
        return PolicyCapabilities(
            supported_benchmarks=("robosuite",),
            required_features=(STATE, POSES),
            max_batch_size=16,
            batch_invariant=True,
        )

    def reset(self, context: EpisodeContext) -> None:
        """Raises ValueError for a task that it does not know."""
        if context.task_id not in STAGES:
            raise ValueError(f"no plan for task {context.task_id!r}; only for {', '.join(STAGES)}")
        self._progress.pop(context.episode_id, None)
        self._tasks[context.episode_id] = context.task_id

    def act(self, observation: Observation) -> ActionChunk:
        scene = scene_of(observation)
        key = observation.episode_id
        if key not in self._progress:
            self._progress[key] = Progress(list(STAGES[self._tasks[key]]), scene)
        return ActionChunk(_next_action(self._progress[key], scene))

    def end_episode(self, episode_id: str) -> None:
        self._progress.pop(episode_id, None)
        self._tasks.pop(episode_id, None)


def scene_of(observation: Observation) -> Scene:
    """What an observation says, in world coordinates."""
    robots = np.asarray(observation.features[STATE], np.float64).reshape(-1, PER_ROBOT)
    poses = np.asarray(observation.features[POSES], np.float64)
    things = poses[poses[:, 3:].any(axis=1)]
    return Scene(
        hands=tuple(robot[:3] for robot in robots),
        turns=tuple(_matrix(robot[3:7]) for robot in robots),
        places=things[:, :3],
        orientations=tuple(_matrix(pose[3:]) for pose in things),
    )


def _next_action(progress: Progress, scene: Scene) -> NDArray[np.float32]:
    """Go on with the stage, or with the next one."""
    stage = progress.stages[0]
    aims = stage.aims(scene, progress.began)
    there = all(
        np.linalg.norm(aim.position - hand) < stage.within_m
        and np.linalg.norm(_missing_turn(aim, turn)) < NEAR_RAD
        for aim, hand, turn in zip(aims, scene.hands, scene.turns, strict=True)
    )
    if len(progress.stages) > 1 and (there or progress.taken >= stage.steps):
        progress.stages.pop(0)
        progress.taken, progress.began, stage = 0, scene, progress.stages[0]
        aims = stage.aims(scene, scene)
    progress.taken += 1
    bases = BASES if len(scene.hands) == 2 else (0.0,)
    each = [
        _command(aim, hand, turn, stage.gripper, about_z(base).T)
        for aim, hand, turn, base in zip(aims, scene.hands, scene.turns, bases, strict=True)
    ]
    return np.concatenate(each).astype(np.float32)


def _command(aim: Aim, hand: Vector, turn: Matrix, gripper: float, to_base: Matrix) -> Vector:
    move = HASTE * to_base @ (aim.position - hand) / REACH_M
    rotation = to_base @ _missing_turn(aim, turn) / TURN_RAD
    clipped: Vector = np.clip(np.concatenate([move, rotation, [gripper]]), -1, 1)
    return clipped


def _missing_turn(aim: Aim, turn: Matrix) -> Vector:
    return rotation_vector_from_matrix(_down(aim.across, turn) @ turn.T)


def _down(across: Vector, turn: Matrix) -> Matrix:
    """Pointing down, the fingers closing along `across`, whichever way round is nearer."""
    fingers = np.array([across[0], across[1], 0.0]) / np.hypot(across[0], across[1])
    fingers *= -1.0 if fingers @ turn[:, 1] < 0 else 1.0
    down = np.array([0.0, 0.0, -1.0])
    return np.column_stack([np.cross(fingers, down), fingers, down])


def _matrix(xyzw: Vector) -> Matrix:
    return matrix_from_wxyz(wxyz_from_xyzw(xyzw))


# --- what stages are made of -----------------------------------------------------------------------


def _up(metres: float) -> Vector:
    return np.array([0.0, 0.0, metres])


def _nearest_face(orientation: Matrix, direction: Vector) -> Vector:
    """The horizontal direction, of the four that a box's faces look to, nearest to one."""
    yaw = math.atan2(orientation[1, 0], orientation[0, 0])
    wanted = math.atan2(direction[1], direction[0])
    quarters = round((wanted - yaw) / (math.pi / 2))
    return about_z(yaw + quarters * math.pi / 2)[:, 0]


def _at(thing: int, above: float, across: Callable[[Scene], Vector] | None = None) -> Aims:
    """At a thing, so far above its middle, the fingers across its nearest faces or as said."""

    def aims(now: Scene, began: Scene) -> tuple[Aim, ...]:
        fingers = across(now) if across else _nearest_face(now.orientations[thing], now.turns[0][:, 1])
        return (Aim(now.places[thing] + _up(above), fingers),)

    return aims


def _raised(metres: float) -> Aims:
    """Straight up from where the stage began, every hand as it was turned."""

    def aims(now: Scene, began: Scene) -> tuple[Aim, ...]:
        return tuple(
            Aim(hand + _up(metres), turn[:, 1]) for hand, turn in zip(began.hands, began.turns, strict=True)
        )

    return aims


def _carried(thing: int, place: int, above: float) -> Aims:
    """So that the thing in the hand comes to be above a place, the hand as it was turned."""

    def aims(now: Scene, began: Scene) -> tuple[Aim, ...]:
        offset = now.places[place] + _up(above) - now.places[thing]
        return (Aim(now.hands[0] + offset, began.turns[0][:, 1]),)

    return aims


def _nut_over_peg(above: float) -> Aims:
    """The nut above the peg and square to it. A handle that points away from the robot is out of reach."""

    def aims(now: Scene, began: Scene) -> tuple[Aim, ...]:
        nut, handle, peg = now.places
        yaw = math.atan2(*(handle - nut)[1::-1])
        quarters = [math.pi / 2, math.pi, -math.pi / 2]
        turn = min((_wrapped(quarter - yaw) for quarter in quarters), key=abs)
        return (Aim(now.hands[0] + peg + _up(above) - nut, about_z(turn) @ now.turns[0][:, 1]),)

    return aims


def _wrapped(angle: float) -> float:
    return (angle + math.pi) % (2 * math.pi) - math.pi


def _taken(
    thing: int, grip: float, lift: float, across: Callable[[Scene], Vector] | None = None
) -> list[Stage]:
    """Over it, down, closed, up."""
    return [
        Stage(_at(thing, grip + 0.1, across), OPEN, 80, 0.015),
        Stage(_at(thing, grip, across), OPEN, 40, 0.008),
        Stage(_at(thing, grip, across), CLOSED, 12),
        Stage(_raised(lift), CLOSED, 40, 0.02),
    ]


def _binned(grip: float, across: Callable[[Scene], Vector] | None = None) -> list[Stage]:
    """The first thing into the place of the second."""
    return [
        *_taken(0, grip, 0.2, across),
        Stage(_carried(0, 1, 0.15), CLOSED, 120, 0.02),
        Stage(_carried(0, 1, 0.02), CLOSED, 40, 0.02),
        Stage(_raised(0.0), OPEN, 10),
        Stage(_raised(0.2), OPEN, 60),
    ]


def _thin_side(now: Scene) -> Vector:
    """Across the cereal's box, which is too wide for a hand the other way."""
    return now.orientations[0][:, 1]


def _handle(now: Scene) -> Vector:
    """Across the handle of the nut, which points from its middle outwards."""
    x, y, _ = now.places[1] - now.places[0]
    return np.array([-y, x, 0.0])


def _latch_axis(now: Scene) -> Vector:
    """Into the door, as the handle's axle: it turns between fingers that close along it."""
    return now.orientations[1][:, 1]


def _turned(now: Scene, began: Scene) -> tuple[Aim, ...]:
    """Onwards along the circle that the handle makes about its axle, downwards from where it rests."""
    handle, axle = now.places[0], now.places[3]
    tangent = np.cross(_latch_axis(now), handle - axle)
    return (Aim(now.hands[0] + 0.04 * tangent / np.linalg.norm(tangent), _latch_axis(now)),)


def _pulled(now: Scene, began: Scene) -> tuple[Aim, ...]:
    """Out of the door's plane."""
    return (Aim(now.hands[0] - 0.05 * _latch_axis(now), _latch_axis(now)),)


def _pot(above: float) -> Aims:
    """At both handles, each across its bar."""

    def aims(now: Scene, began: Scene) -> tuple[Aim, ...]:
        return tuple(
            Aim(now.places[number] + _up(above), now.places[number] - now.places[0]) for number in (1, 2)
        )

    return aims


STAGES: Final[dict[str, list[Stage]]] = {
    "lift": _taken(0, 0.0, 0.2),
    "stack": [
        *_taken(0, 0.0, 0.2),
        Stage(_carried(0, 1, 0.12), CLOSED, 80, 0.01),
        Stage(_carried(0, 1, 0.046), CLOSED, 40, 0.006),
        Stage(_raised(0.0), OPEN, 10),
        Stage(_raised(0.15), OPEN, 60),
    ],
    "can": _binned(0.02),
    "milk": _binned(0.02),
    "bread": _binned(0.0),
    "cereal": _binned(0.03, _thin_side),
    "square": [
        *_taken(1, 0.0, 0.2, _handle),
        Stage(_nut_over_peg(0.15), CLOSED, 120, 0.004),
        Stage(_nut_over_peg(0.03), CLOSED, 60, 0.01),
        Stage(_raised(0.0), OPEN, 10),
        Stage(_raised(0.1), OPEN, 60),
    ],
    "door": [
        Stage(_at(0, 0.12, _latch_axis), OPEN, 80, 0.02),
        Stage(_at(0, 0.0, _latch_axis), OPEN, 40, 0.01),
        Stage(_at(0, 0.0, _latch_axis), CLOSED, 12),
        Stage(_turned, CLOSED, 40),
        Stage(_pulled, CLOSED, 300),
    ],
    "two-arm-lift": [
        Stage(_pot(0.1), OPEN, 100, 0.015),
        Stage(_pot(0.0), OPEN, 60, 0.01),
        Stage(_pot(0.0), CLOSED, 15),
        Stage(_raised(0.2), CLOSED, 200),
    ],
}
"""By task; a task that is not here is refused."""
