"""Checking a store against the promises made about it.

    I1  every accepted result is one result of one planned episode, announced by exactly one event
    I2  accepted results and events cannot be changed
    I3  an accepted result holds the attempt that owned its item, accepted while that attempt was open
    I4  nothing is lost: every planned episode is accepted or missing, and every item is where its attempts
        and episodes put it
    I5  the events alone reproduce the stored bytes and every counter

Reads only; safe beside a running coordinator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
from sqlalchemy import Connection, select
from sqlalchemy import text as sql

from proctor.coordinator.acceptance import record_digest
from proctor.coordinator.database import reading_engine
from proctor.coordinator.schema import COUNTERS, SQLITE_TRIGGERS, attempt, episode, event_log, task, work_item
from proctor.coordinator.states import AttemptState, EventKind, ItemState
from proctor.evaluation.record import EpisodeRecord


def audit(database: Path) -> tuple[str, ...]:
    """Every violation in the file, each beginning with the broken promise; empty when all hold."""
    engine = reading_engine(database)
    try:
        with engine.connect() as connection:
            found = _Books(connection)
            return tuple(
                violation
                for check in (found.i1, found.i2, found.i3, found.i4, found.i5)
                for violation in check()
            )
    finally:
        engine.dispose()


class _Books:
    """All rows of one snapshot."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.episodes = connection.execute(select(episode)).mappings().all()
        self.items = connection.execute(select(work_item)).mappings().all()
        self.attempts = {row["id"]: row for row in connection.execute(select(attempt)).mappings()}
        self.tasks = connection.execute(select(task)).mappings().all()
        self.events = connection.execute(select(event_log).order_by(event_log.c.id)).mappings().all()
        self.accepted = [row for row in self.episodes if row["outcome"] is not None]
        self.announced = [row for row in self.events if row["kind"] == EventKind.ACCEPTED]

    def i1(self) -> Iterator[str]:
        announced = Counter((row["run_id"], row["episode_id"]) for row in self.announced)
        stored = {(row["run_id"], row["id"]) for row in self.accepted}
        for key, count in announced.items():
            if count > 1:
                yield f"I1: episode {key[1]} was accepted {count} times"
            if key not in stored:
                yield f"I1: episode {key[1]} was announced as accepted and has no result"
        for key in stored - set(announced):
            yield f"I1: episode {key[1]} has a result that no event announced"
        for row in self.accepted:
            record = msgspec.json.decode(row["record"], type=EpisodeRecord)
            if (record.episode_id, record.task) != (row["id"], row["task"]):
                yield f"I1: episode {row['id']} holds the result of {record.episode_id}"

    def i2(self) -> Iterator[str]:
        present = set(self.connection.scalars(sql("SELECT name FROM sqlite_master WHERE type = 'trigger'")))
        for name in SQLITE_TRIGGERS:
            if name not in present:
                yield f"I2: the guard {name} is not in place"

    def i3(self) -> Iterator[str]:
        claims = {r["attempt_id"]: r["id"] for r in self.events if r["kind"] == EventKind.CLAIMED}
        ends = {r["attempt_id"]: r["id"] for r in self.events if r["kind"] == EventKind.ENDED}
        owners = {(r["run_id"], r["episode_id"]): r for r in self.announced}
        for row in self.accepted:
            owner, announced = self.attempts.get(row["attempt_id"]), owners.get((row["run_id"], row["id"]))
            if owner is None or owner["item_id"] != row["item_id"]:
                yield f"I3: episode {row['id']} was accepted from an attempt of another item"
            elif announced is None:
                continue
            elif announced["attempt_id"] != owner["id"]:
                yield f"I3: episode {row['id']} was announced from an attempt that is not its own"
            else:
                at = announced["id"]
                if not claims.get(owner["id"], at) < at < ends.get(owner["id"], at + 1):
                    yield f"I3: episode {row['id']} was accepted outside its attempt's lease"

    def i4(self) -> Iterator[str]:
        missing = Counter((r["run_id"], r["item_id"]) for r in self.episodes if r["outcome"] is None)
        held = [row for row in self.attempts.values() if row["state"] == AttemptState.OPEN]
        holders = Counter((row["run_id"], row["item_id"]) for row in held)
        for item in self.items:
            key = (item["run_id"], item["id"])
            if problem := _misplaced(item["state"], missing[key], holders[key]):
                yield f"I4: item {item['id']} is {item['state']} with {problem}"
        planned = Counter((row["run_id"], row["task"]) for row in self.episodes)
        for row in self.tasks:
            found = planned[row["run_id"], row["task"]]
            if found != row["planned"]:
                yield f"I4: task {row['task']} plans {row['planned']} episodes and has {found}"

    def i5(self) -> Iterator[str]:
        details = {
            (row["run_id"], row["episode_id"]): msgspec.json.decode(row["detail"]) for row in self.announced
        }
        for row in self.accepted:
            detail = details.get((row["run_id"], row["id"]))
            if detail is None:
                continue
            if record_digest(row["record"]) != detail["sha256"] or row["outcome"] != detail["outcome"]:
                yield f"I5: the result of episode {row['id']} is not the one that was announced"
        recounted = self._recount()
        for row in self.tasks:
            for name in COUNTERS:
                expected = recounted[row["run_id"], row["task"], name]
                if row[name] != expected:
                    yield f"I5: task {row['task']} counts {row[name]} {name}; its history says {expected}"

    def _recount(self) -> Counter[tuple[int, str, str]]:
        counters: Counter[tuple[int, str, str]] = Counter()
        tasks = {(row["run_id"], row["id"]): row["task"] for row in self.items}
        for item in self.items:
            counters[item["run_id"], item["task"], item["state"]] += 1
        for row in self.events:
            key = (row["run_id"], tasks.get((row["run_id"], row["item_id"]), ""))
            detail = msgspec.json.decode(row["detail"])
            if row["kind"] in (EventKind.ACCEPTED, EventKind.EPISODE_ERROR):
                counters[(*key, detail["outcome"])] += 1
            if row["kind"] == EventKind.ENDED:
                counters[(*key, "failed_attempts")] += detail["charge"]
        return counters


def _misplaced(state: str, missing: int, holders: int) -> str:
    if holders != (state == ItemState.LEASED):
        return f"{holders} open attempts"
    if state == ItemState.DONE and missing:
        return f"{missing} episodes missing"
    if state in (ItemState.PENDING, ItemState.QUARANTINED) and not missing:
        return "nothing missing"
    return ""
