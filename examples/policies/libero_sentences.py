"""What a sentence of LIBERO asks for, and which of the poses that are told it is about.

A pose comes without a name. Scenes list them in the order of the goal, the thing and then its place; where
one does not, `ROWS` says the order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Job:
    """One thing to do."""

    verb: str
    """`put`, `push`, `open`, `close`, `turn on`, `turn off`."""
    what: str
    """The thing, or what is opened or turned."""
    where: str = ""
    """For `put` and `push`: where to, with its preposition."""
    thing: int = 0
    """Row of the thing's pose."""
    place: int = -1
    """Row of the place's, or of what is opened or turned; -1: the last that is told."""


ROWS: Final = {
    "90-01": ((1, 0),),
    "90-08": ((1, 0),),
    "90-34": ((1, 0),),
    "90-45": ((1, 0),),
    "90-63": ((1, 2), (0, 1)),
    "90-64": ((0, 2), (1, 0)),
    "10-4": ((3, 0), (2, 1)),
    "10-6": ((2, 0), (1, 0)),
    "10-task-0": ((0, 1), (2, 1)),
    "10-task-2": ((1, 2),),
    "10-task-3": ((1, 2),),
    "10-task-4": ((0, 2), (1, 3)),
    "10-task-6": ((0, 2), (1, 2)),
    "10-task-7": ((0, 1), (2, 1)),
    "10-task-8": ((0, 1),),
}
"""Rows of thing and place for everything that is put, by task."""

FURNITURE: Final = {"90-01": 0, "90-08": 0, "90-45": 0, "10-task-2": 0}
"""Row of what is opened, closed or turned on, by task."""

SAME_PLACE: Final = {"object": "in basket", "spatial": "on plate"}
"""Where every task of a suite puts its thing, however its sentence was rewritten."""

SIDES: Final = ("back", "front")

_SAME_ORDER: Final = re.compile(r"-(?:lan|swap|object|camera|robot|noise|layout)(?=-|$)")
"""Perturbations that leave a scene's list as it is."""
_PUT: Final = re.compile(
    r"(?:(?P<verb>put|place|move|push|stack) )?(?P<what>.+?) "
    r"(?P<where>(?:on top of|on|into|inside|in|under|to (?:right|left|front)(?: of)?)\b.*)"
)
_TAKE: Final = re.compile(
    r"(?:pick up|pick|take|grab|lift) (?P<what>.+?) and (?:put|place|set) (?:it )?(?P<where>.+)"
)
_BOTH: Final = re.compile(
    r"(?:put|place) (?:both )?(?P<one>[a-z ]+?) and (?P<other>[a-z ]+?) (?P<where>(?:in|into) basket)"
)
_POTS: Final = re.compile(r"(?:put|place) both (?P<what>moka pot)s on stove")
_TURN: Final = re.compile(r"(?:turn|switch) (?:(?P<first>on|off) )?(?P<what>stove)(?: (?P<last>on|off))?")
_FURNITURE: Final = re.compile(r"(?P<verb>open|slide open|close) (?P<what>.*(?:drawer|microwave|door).*|it)")


def jobs_of(task: str, sentence: str) -> list[Job]:
    """What is to be done, in turn; empty where the sentence is not understood."""
    asked = _without_articles(sentence)
    if found := _TAKE.fullmatch(asked):
        jobs: list[Job | None] = [Job("put", found["what"], found["where"])]
    elif found := _BOTH.fullmatch(asked):
        jobs = [Job("put", found[name], found["where"], row, 2) for row, name in enumerate(("one", "other"))]
    elif found := _POTS.fullmatch(asked):
        jobs = [Job("put", found["what"], f"on {side} of stove", row, 2) for row, side in enumerate(SIDES)]
    else:
        jobs = [_job(clause) for clause in asked.split(" and ")]
    known = [job for job in jobs if job is not None]
    if known and known[-1].what == "them":  # the lower one first: stacked, it has no rim to hold
        known = [replace(known[-1], what="bowl"), *known[:-1]]
    if len(known) == len(jobs):
        return _with_rows(task, known)
    where = SAME_PLACE.get(task.partition("-")[0]) if task.endswith("-language") else None
    return [Job("put", asked, where)] if where else []


def _without_articles(sentence: str) -> str:
    """Colours that need an `and`, and words that add nothing, are taken out."""
    text = sentence.lower().replace("yellow and white", "yellow-white")
    return " ".join(word for word in text.split() if word not in ("the", "a"))


def _job(clause: str) -> Job | None:
    if found := _TURN.fullmatch(clause):
        return Job(f"turn {found['first'] or found['last']}", found["what"])
    if found := _FURNITURE.fullmatch(clause):
        return Job(found["verb"].removeprefix("slide "), found["what"])
    if found := _PUT.fullmatch(clause):
        return Job("push" if found["verb"] == "push" else "put", found["what"], found["where"])
    return None


def _with_rows(task: str, jobs: list[Job]) -> list[Job]:
    """Things, places and furniture where `ROWS` and `FURNITURE` say that they are."""
    rows = iter(ROWS.get(task, ROWS.get(_SAME_ORDER.sub("", task), ())))
    found = []
    for job in jobs:
        if job.where:
            thing, place = next(rows, (job.thing, job.place))
            found.append(replace(job, thing=thing, place=place))
        else:
            what = found[-1].where if job.what == "it" and found else job.what
            found.append(replace(job, what=what, place=FURNITURE.get(task, job.place)))
    return found
