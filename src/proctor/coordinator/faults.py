"""What kept attempts and episodes from a result, as people read it: in `errors.jsonl` and in the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from sqlalchemy import RowMapping

from proctor.coordinator.statements import attempts, events
from proctor.coordinator.states import AttemptState, EventKind
from proctor.evaluation.record import EpisodeRecord, ErrorRecord, Outcome
from proctor.results.run_record import AttemptFault

Rows = Callable[..., list[RowMapping]]
"""Executes a statement on one run, as `Transaction.rows` does."""


def recorded_faults(rows: Rows) -> Iterator[AttemptFault]:
    """Every fault of a run, in the order they happened."""
    tried = {row["id"]: row for row in rows(attempts.ALL)}
    happened = rows(events.OF_KIND, kind=EventKind.EPISODE_ERROR) + rows(events.OF_KIND, kind=EventKind.ENDED)
    for event in sorted(happened, key=lambda row: row["id"]):
        attempt = tried[event["attempt_id"]]
        if event["kind"] == EventKind.EPISODE_ERROR:
            yield episode_fault(
                attempt, msgspec.json.decode(event["detail"], type=EpisodeRecord), event["at"]
            )
        elif attempt["state"] != AttemptState.DONE:
            yield attempt_fault(attempt)


def episode_fault(attempt: RowMapping, record: EpisodeRecord, at: str) -> AttemptFault:
    """An episode ended without an evaluated outcome; its attempt may have gone on."""
    return AttemptFault(
        item=attempt["item_id"],
        attempt=attempt["number"],
        outcome=record.outcome,
        worker=attempt["worker"],
        episodes=(record.episode_id,),
        error=record.error,
        at=at,
    )


def attempt_fault(attempt: RowMapping) -> AttemptFault:
    """An attempt, a row of the table, ended before its item was done."""
    return AttemptFault(
        item=attempt["item_id"],
        attempt=attempt["number"],
        outcome=Outcome(attempt["fault"]),
        worker=attempt["worker"],
        episodes=tuple(msgspec.json.decode(attempt["missing"], type=list[str])),
        error=msgspec.json.decode(attempt["error"], type=ErrorRecord),
        at=attempt["ended_at"],
    )


def as_line(fault: AttemptFault) -> str:
    """A fault as a line of `errors.jsonl`."""
    return msgspec.json.encode(fault).decode()
