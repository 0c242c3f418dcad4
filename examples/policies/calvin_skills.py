"""How CALVIN's oracle goes about the 34 subtasks: stages, each an aim for the hand with the fingers open or
closed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from calvin_scene import (
    BLOCK_M,
    BUTTON,
    COLOURS,
    DOOR_M,
    DRAWER_M,
    SHELF_Y_M,
    SWITCH_M,
    TABLE_M,
    Matrix,
    Scene,
    Vector,
    door_handle,
    drawer_handle,
    shelf_openings,
    switch_bar,
    uphill,
)

from proctor.actions.calvin_tcp import CLOSES, OPENS
from proctor.actions.rotations import about_x, about_z

CLEAR_M: Final = 0.68
"""Height at which the hand is above everything, but for what it carries."""
BACK_M: Final = 0.1
"""How far the hand draws back along its fingers before it goes elsewhere."""
FINGER_M: Final = 0.012
"""Half the width of a finger where it pushes"""
PAIR_M: Final = 0.022
"""The same of both, along the direction in which they close."""
CROWDED_M: Final = 0.12
"""Blocks nearer to each other than this are in a hand's way."""
ASIDE_M: Final = 0.014
"""How much an open hand can be beside a block's middle and still take it."""
SHOVE: Final = 2.5
"""How much faster the door is pushed than the hand goes elsewhere: it slides on when the subtask is done."""
DRAWER_X_M: Final = (0.065, 0.295)
"""Between these a block in the drawer has room for a finger on either side."""
LONG: Final = "pink"
"""The block that fits between the fingers one way only."""
AJAR_M: Final = 0.05
"""How far the sliding door may be from its end before it is in the way there."""
SHELF_MIDDLE_M: Final = -0.1
WIDE_M: Final = 0.22
"""An opening that has room for a hand beside its middle."""
BESIDE_M: Final = 0.03
"""Room that is left beside what will be pushed."""
GRIP_M: Final = 0.004
"""How far above a block's middle it is held."""
LEAN_RAD: Final = {
    "slider": math.radians(20),
    "drawer": math.radians(20),
    "handle": math.radians(25),
    "switch": math.radians(60),
}
"""How far fingers point away from whoever stands before the desk, rather than straight down."""
QUARTER_RAD: Final = 1.3
"""A turn that counts as one: upstream wants more than 60 degrees."""
RIGHT: Final = np.array([1.0, 0.0, 0.0])
AWAY: Final = np.array([0.0, 1.0, 0.0])
"""From whoever stands before the desk."""
UP: Final = np.array([0.0, 0.0, 1.0])
SIDES: Final = {"left": -1.0, "right": 1.0}


@dataclass(frozen=True)
class Aim:
    """Where the hand is to be."""

    position: Vector
    turn: Matrix


Aims = Callable[[Scene], Aim]
"""Of a stage, from the scene in which it begins."""


@dataclass(frozen=True)
class Stage:
    """A part of a way."""

    aims: Aims
    gripper: int
    waits: int = 0
    """Steps to stay where the aim is."""
    pace: float = 1.0
    """How much faster than usual."""


def stages_of(subtask: str, scene: Scene) -> list[Stage]:
    """All of a subtask, from the scene that it begins in. Empty where nothing is there to do it with."""
    words = subtask.split("_")
    match words:
        case ["open" | "close", "drawer"]:
            return _open_drawer() if words[0] == "open" else _close_drawer()
        case ["move", "slider", side]:
            return _slide(SIDES[side])
        case ["turn", way, "lightbulb"]:
            return _flip(way == "on")
        case ["turn", _, "led"]:
            return _press()
        case ["push", colour, "block", side]:
            return _push(colour, SIDES[side] * RIGHT)
        case ["rotate", colour, "block", side]:
            return _rotate(colour, -SIDES[side] * QUARTER_RAD)
        case ["lift", colour, "block", where]:
            uncovering = _uncover(scene, colour) if where == "slider" else []
            return [*uncovering, *_lift(colour, LEAN_RAD.get(where, 0.0))]
        case _:
            return _with_whatever_is_there(subtask, scene)


def _with_whatever_is_there(subtask: str, scene: Scene) -> list[Stage]:
    if subtask == "push_into_drawer":
        return _push_into_drawer(scene.on_table()[0], scene) if scene.on_table() else []
    if subtask == "unstack_block":
        top = scene.stacked()
        return _lift(top, 0.0) if top else []
    held = scene.held()
    if held is None:
        return []
    if subtask == "place_in_slider":
        return _put(_free_place(scene, held, _on_shelf(scene)), 0.05, LEAN_RAD["slider"])
    if subtask == "place_in_drawer":
        return _put(_free_place(scene, held, _in_drawer(scene)), 0.06, 0.0)
    return _stack(held, scene)


# --- doors, lights ---------------------------------------------------------------------------------


def _open_drawer() -> list[Stage]:
    """A finger goes down between the handle and the drawer, and draws."""
    turn = pointing(LEAN_RAD["handle"])

    def behind(scene: Scene, above: float = 0.0) -> Aim:
        return Aim(drawer_handle(scene.drawer) + 0.045 * AWAY + above * UP, turn)

    out = drawer_handle(DRAWER_M) - 0.01 * AWAY
    return [
        *_approach(lambda scene: behind(scene, 0.12), CLOSES),
        Stage(behind, CLOSES),
        Stage(lambda _: Aim(out, turn), CLOSES, 10),
    ]


def _close_drawer() -> list[Stage]:
    """Fingers push the handle from before it."""

    def before(scene: Scene) -> Aim:
        return Aim(drawer_handle(scene.drawer) - (2 * PAIR_M + BESIDE_M) * AWAY, pointing())

    shut = drawer_handle(0.0) - 0.005 * AWAY
    return [*_approach(before, CLOSES), Stage(lambda _: Aim(shut, pointing()), CLOSES, 10)]


def _slide(side: float) -> list[Stage]:
    """Fingers push the door's handle from its other side."""
    away = -side * RIGHT * (2 * PAIR_M + BESIDE_M)
    end = door_handle(DOOR_M if side < 0 else 0.0) - side * RIGHT * PAIR_M

    def beside(scene: Scene) -> Aim:
        return Aim(door_handle(scene.door) + away, pointing())

    return [*_approach(beside, CLOSES), Stage(lambda _: Aim(end, pointing()), CLOSES, 10, SHOVE)]


def _uncover(scene: Scene, colour: str) -> list[Stage]:
    """The door away from a block on the shelf, if any of it is in the way."""
    is_left = scene.blocks[colour][0] < SHELF_MIDDLE_M
    gap = scene.door if is_left else DOOR_M - scene.door
    return _slide(SIDES["right" if is_left else "left"]) if gap > AJAR_M else []


def _flip(on: bool) -> list[Stage]:
    """Fingers push the switch's bar up from below it, or down from above it."""
    turn, direction = pointing(LEAN_RAD["switch"]), uphill() if on else -uphill()

    def beyond(scene: Scene) -> Aim:
        return Aim(switch_bar(scene.switch) - direction * (BLOCK_M / 2 + FINGER_M + BESIDE_M), turn)

    end = switch_bar(SWITCH_M if on else 0.0)
    return [*_approach(beyond, CLOSES), Stage(lambda _: Aim(end, turn), CLOSES, 10)]


def _press() -> list[Stage]:
    over, down = np.array(BUTTON) + 0.05 * UP, np.array(BUTTON) - 0.015 * UP
    return [
        *_approach(lambda _: Aim(over, pointing()), CLOSES),
        Stage(lambda _: Aim(down, pointing()), CLOSES, 5),
    ]


# --- blocks ----------------------------------------------------------------------------------------


def _push(colour: str, direction: Vector, way_m: float = 0.17) -> list[Stage]:
    """Fingers push a block from behind it."""

    def behind(scene: Scene) -> Aim:
        return Aim(scene.blocks[colour] - direction * (BLOCK_M + PAIR_M), pointing())

    def onwards(scene: Scene) -> Aim:
        return Aim(scene.hand + way_m * direction, pointing())

    return [*_approach(behind, CLOSES), Stage(onwards, CLOSES, 10)]


def _push_into_drawer(colour: str, scene: Scene) -> list[Stage]:
    """Over the table's edge, after it was pushed to where the drawer is below it."""
    x = scene.blocks[colour][0]
    low, high = DRAWER_X_M
    aside = _push(colour, math.copysign(1.0, low - x) * RIGHT, 0.1) if not low < x < high else []
    return [*aside, *_push(colour, -AWAY)]


def _grasp(colour: str, lean: float) -> list[Stage]:
    def around(scene: Scene, above: float = GRIP_M) -> Aim:
        turn = pointing(lean, _across(scene, colour))
        aside = _from_neighbours(scene, colour, turn[:, 1])
        return Aim(scene.blocks[colour] + above * UP + aside, turn)

    return [
        *_approach(lambda scene: around(scene, 0.08), OPENS),
        Stage(around, OPENS, 3),
        Stage(_stay, CLOSES, 10),
    ]


def _from_neighbours(scene: Scene, colour: str, fingers: Vector) -> Vector:
    """How far the open hand goes aside, so that no finger comes down on a block next to the one it takes."""
    aside = np.zeros(3)
    for other in COLOURS:
        way = scene.blocks[other] - scene.blocks[colour]
        along = float(way @ fingers)
        if other != colour and np.linalg.norm(way) < CROWDED_M and abs(along) > BLOCK_M:
            aside -= math.copysign(ASIDE_M, along) * fingers
    return aside


def _rotate(colour: str, angle: float) -> list[Stage]:
    """A block where it lies; it counts as it touches the table, so it is let go."""
    return [*_grasp(colour, 0.0), Stage(_turned(angle), CLOSES, 5), Stage(_stay, OPENS, 10)]


def _lift(colour: str, lean: float) -> list[Stage]:
    return [*_grasp(colour, lean), Stage(_raised(0.15), CLOSES, 10)]


def _put(place: Vector, above: float, lean: float) -> list[Stage]:
    """What is held, to a place, and let fall from a little above it."""
    turn = pointing(lean)
    there = Aim(place + above * UP, turn)
    return [
        *_approach(lambda _: there, CLOSES, CLOSES),
        Stage(_stay, OPENS, 10),
        Stage(_back, OPENS, 10),
    ]


def _stack(held: str, scene: Scene) -> list[Stage]:
    others = [name for name in scene.on_table() if name != held]
    if not others:
        return []
    offset = scene.hand - scene.blocks[held]

    def over(above: float) -> Aims:
        return lambda now: Aim(now.blocks[others[0]] + offset + above * UP, scene.turn)

    return [
        *_approach(over(0.12), CLOSES, CLOSES),
        Stage(over(BLOCK_M + 0.005), CLOSES, 5),
        Stage(_stay, OPENS, 10),
        Stage(_back, OPENS, 20),
    ]


def _on_shelf(scene: Scene) -> list[Vector]:
    """In the wider of the two openings that the sliding door leaves."""
    left, right = shelf_openings(scene.door)
    low, high = left if left[1] - left[0] > right[1] - right[0] else right
    sides = (0.0, -0.07, 0.07) if high - low > WIDE_M else (0.0,)
    return [np.array([(low + high) / 2 + side, SHELF_Y_M, 0.46]) for side in sides]


def _in_drawer(scene: Scene) -> list[Vector]:
    return [np.array([x, -0.06 - scene.drawer, 0.36]) for x in (0.18, 0.1, 0.26)]


def _free_place(scene: Scene, held: str, places: list[Vector]) -> Vector:
    """The first that is free, else the one with the most room."""
    others = [scene.blocks[name] for name in COLOURS if name != held]

    def room(place: Vector) -> float:
        return min(float(np.linalg.norm(place - other)) for other in others)

    return next((place for place in places if room(place) > 2 * BLOCK_M), max(places, key=room))


# --- ways ------------------------------------------------------------------------------------------


def pointing(lean: float = 0.0, fingers: Vector = RIGHT) -> Matrix:
    """A hand that points down, leaning away from whoever stands before the desk, its fingers closing along a
    horizontal direction."""
    upright = np.column_stack([np.cross(fingers, -UP), fingers, -UP])
    turn: Matrix = about_x(lean) @ upright
    return turn


def _approach(aims: Aims, gripper: int, leaving: int = OPENS) -> list[Stage]:
    """Back along the fingers and up, as one leaves; over to where the way down begins, and down."""

    def over(scene: Scene) -> Aim:
        aim = near(scene)
        return Aim(np.array([*aim.position[:2], max(CLEAR_M, aim.position[2])]), aim.turn)

    def near(scene: Scene) -> Aim:
        aim = aims(scene)
        return Aim(aim.position - BACK_M * aim.turn[:, 2], aim.turn)

    away = [Stage(_back, leaving), Stage(_up, leaving)]
    return [*away, *(Stage(each, gripper) for each in (over, near, aims))]


def _back(scene: Scene) -> Aim:
    return Aim(scene.hand - BACK_M * scene.turn[:, 2], scene.turn)


def _up(scene: Scene) -> Aim:
    return Aim(np.array([*scene.hand[:2], max(CLEAR_M, scene.hand[2])]), scene.turn)


def _stay(scene: Scene) -> Aim:
    return Aim(scene.hand, scene.turn)


def _raised(metres: float) -> Aims:
    return lambda scene: Aim(scene.hand + metres * UP, scene.turn)


def _turned(angle: float) -> Aims:
    return lambda scene: Aim(scene.hand, about_z(angle) @ scene.turn)


def _across(scene: Scene, colour: str) -> Vector:
    """The horizontal direction across a block's length, of the two the one nearer to `RIGHT`. Near a side of
    the drawer the one along it, if the block is short enough for it."""
    axes = scene.turns[colour].T
    side = min(axes[1:], key=lambda axis: abs(float(axis[2])))
    x, _, z = scene.blocks[colour]
    if z < TABLE_M and colour != LONG and not DRAWER_X_M[0] < x < DRAWER_X_M[1]:
        side = min(axes, key=lambda axis: abs(float(axis @ RIGHT)) + abs(float(axis[2])))
    flat = np.array([side[0], side[1], 0.0])
    flat *= math.copysign(1.0, flat[0] - flat[1]) / np.linalg.norm(flat)
    return flat
