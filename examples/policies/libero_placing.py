"""How LIBERO's oracle takes a thing and puts it where it belongs. Lengths were read off upstream's models."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from libero_furniture import inside_of
from libero_scene import CLOSED, OPEN, OVER, QUARTER, Pose, Stage, Vector, point
from libero_sentences import Job

from proctor.actions.rotations import about_z

CARRY_M: Final = 0.2
"""How far above both ends of its way a thing is carried."""


@dataclass(frozen=True)
class Grasp:
    """Where a thing is held, and how."""

    offset: Vector
    """From its centre to the point between the fingers, m."""
    drop_m: float
    """How far above the place it is let go."""
    turn_rad: float = 0.0
    """Of the hand about the vertical axis."""
    across: float | None = None
    """Direction in the thing's frame along which the fingers close, rad from x; `offset` is in that frame
    too. None: both as the world's axes are."""


@dataclass(frozen=True)
class Place:
    """Where things are put."""

    offset: Vector
    """From the furniture's origin, in its frame, or from a thing, m."""
    in_world: bool = False
    """The offset is along the world's axes."""
    of_region: bool = True
    """A scene may tell the pose of this place itself."""
    before: bool = False
    """Things stand before it, perhaps half below it, and are held on their far side."""
    by_hand: bool = False
    """The hand comes there, not the origin of the thing in it: it is narrow."""
    across: float | None = None
    """Direction in the furniture's frame along which the fingers are to close, rad from x. None: any."""


ROUND: Final = Grasp(np.zeros(3), 0.12)
GRASPS: Final[dict[str, Grasp]] = {
    "cream cheese": Grasp(point(-0.022, 0, 0), 0.12),  # the hand is wide, and a can stands beside it
    "bowl": Grasp(point(0, 0.05, 0.015), 0.04),
    "plate": Grasp(point(0, 0.065, 0.008), 0.03),
    "red mug": Grasp(point(0.055, 0, 0.11), 0.015, across=0.0),
    "mug|cup": Grasp(point(0.055, 0, 0.09), 0.015, across=0.0),
    "bottle": Grasp(point(0, 0, 0.1), 0.015),
    "moka pot": Grasp(point(0, 0, 0.078), 0.08),
    "pan": Grasp(point(0.14, 0.015, 0.044), 0.02, across=QUARTER),
    "ketchup": Grasp(point(0, 0, 0.04), 0.12),
    "book": Grasp(point(0, -0.012, 0.115), 0.02, across=0.0),
}
"""By what is found in the thing's name; anything else is held by its middle."""
FROM_DRAWER: Final = Grasp(point(-0.05, 0, 0.015), 0.04, QUARTER)
INTO_BOTTOM: Final = Grasp(point(0.045, 0.02, 0.015), 0.04, QUARTER)
"""Of a bowl: the hand is narrow one way, and so comes between the walls, and below the handles above."""

PLACES: Final[dict[str, Place]] = {
    r"on (top of )?((left|right) )?plate": Place(np.zeros(3), of_region=False),
    r"(on|in|inside) .*bowl.*": Place(np.zeros(3), of_region=False),
    r"(in|into) (basket|tray)": Place(np.zeros(3)),
    r"on back of stove": Place(point(0.106, 0, 0)),
    r"on front of stove": Place(point(0.194, 0, 0)),
    r"on (stove|it)": Place(point(0.15, 0, 0)),
    r"on top of .*": Place(point(0.004, 0.016, 0.217)),
    r"on (wine )?rack": Place(point(0, -0.08, 0.217)),
    r"in(side)? (it|top (drawer|layer).*)|inside": Place(inside_of("top"), before=True),
    r"in(side)? bottom (drawer|layer).*": Place(inside_of("bottom"), before=True, across=0.0),
    r"in right compartment.*": Place(point(0.007, -0.143, 0.0), across=0.0, by_hand=True),
    r"in left compartment.*": Place(point(0.007, 0.145, 0.0), across=0.0, by_hand=True),
    r"in back compartment.*": Place(point(0.034, 0.0, 0.0), across=0.0, by_hand=True),
    r"in front compartment.*": Place(point(-0.031, 0.0, 0.0), across=0.0, by_hand=True),
    r"to right( of plate)?": Place(point(0, 0.1, 0), in_world=True, of_region=False),
    r"to left of plate": Place(point(0, -0.1, 0), in_world=True, of_region=False),
    r"to right of caddy": Place(point(0, 0.284, 0), in_world=True, of_region=False, across=0.0),
    r"to front of white mug": Place(point(0.1, 0, 0), in_world=True, of_region=False),
    r"to front of stove": Place(np.zeros(3)),
}
"""By what is said of them, the first that fits."""


def cannot_put(job: Job) -> str:
    """Why a thing cannot be put; empty where it can."""
    if "ketchup" in job.what and "drawer" in job.where:
        return "it cannot lay down what is too tall for a drawer"
    return "" if _place_of(job.where) else f"it cannot {job.verb} a thing {job.where}"


def _place_of(where: str) -> Place | None:
    return next((place for words, place in PLACES.items() if re.fullmatch(words, where)), None)


def _grasp_of(thing: str, where: str) -> Grasp:
    if re.search(r"bowl (in|from) .*(drawer|layer)", thing):
        return FROM_DRAWER
    if "bowl" in thing and "bottom" in where:
        return INTO_BOTTOM
    return next((grasp for word, grasp in GRASPS.items() if re.search(word, thing)), ROUND)


def put(job: Job, thing: Pose, place: Pose, regions: bool) -> list[Stage]:
    """Over it, down, grasp, up, over the place, down, let go, up."""
    grasp, spot = _grasp_of(job.what, job.where), _place_of(job.where)
    assert spot is not None
    offset, turn = grasp.offset, grasp.turn_rad
    if spot.before and place.position[1] > thing.position[1]:
        offset = offset * [1, -1, 1]
    if grasp.across is not None:
        offset = about_z(thing.yaw) @ offset
        turn = _turn_across(thing.yaw + grasp.across)
    grip = Hold(thing.position + offset, point(0, 0, turn))
    goal, last = _spot_at(spot, place, regions), turn
    if spot.across is not None:
        last = _turn_across(spot.across + (0.0 if regions else place.yaw), near=turn)
    above = offset * [0, 0, 1] if spot.by_hand else about_z(last - turn) @ offset
    drop = Hold(goal + above + [0, 0, grasp.drop_m], point(0, 0, last))
    if job.verb == "push":
        return _pushed(grip, drop)
    return _carried(grip, drop, max(grip.position[2], goal[2]) + CARRY_M)


def _spot_at(spot: Place, place: Pose, regions: bool) -> Vector:
    if regions and spot.of_region:
        return place.position
    return place.position + spot.offset if spot.in_world else place.at(spot.offset)


@dataclass(frozen=True)
class Hold:
    """The hand where a thing is taken or let go."""

    position: Vector
    turn: Vector


def _taken(grip: Hold) -> list[Stage]:
    return [
        Stage(grip.position + OVER, OPEN, 60, 0.012, grip.turn),
        Stage(grip.position, OPEN, 40, 0.008, grip.turn),
        Stage(grip.position, CLOSED, 12, turn=grip.turn),
    ]


def _let_go(drop: Hold) -> list[Stage]:
    return [
        Stage(drop.position, OPEN, 10, turn=drop.turn),
        Stage(drop.position + OVER, OPEN, 60, 0.02, drop.turn),
    ]


def _carried(grip: Hold, drop: Hold, carry_z: float) -> list[Stage]:
    return [
        *_taken(grip),
        Stage(np.array([*grip.position[:2], carry_z]), CLOSED, 40, 0.03, grip.turn),
        Stage(np.array([*drop.position[:2], carry_z]), CLOSED, 80, 0.015, drop.turn),
        Stage(drop.position, CLOSED, 40, 0.015, drop.turn),
        *_let_go(drop),
    ]


def _pushed(grip: Hold, drop: Hold) -> list[Stage]:
    """Held, but not taken up."""
    end = Hold(np.array([*drop.position[:2], grip.position[2]]), drop.turn)
    return [*_taken(grip), Stage(end.position, CLOSED, 120, 0.01, end.turn), *_let_go(end)]


def _turn_across(direction: float, near: float = 0.0) -> float:
    """Of the hand, so that its fingers close along a direction: the least from where it is turned."""
    return near + (direction - near) % math.pi - QUARTER
