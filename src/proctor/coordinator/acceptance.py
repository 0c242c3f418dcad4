"""Accepting results: each planned episode once, from the attempt that owns its item."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from sqlalchemy import RowMapping

from proctor.benchmarks.contract import Episode
from proctor.coordinator.faults import as_line, episode_fault
from proctor.coordinator.refusals import superseded
from proctor.coordinator.statements import attempts, episodes, events
from proctor.coordinator.states import EventKind
from proctor.coordinator.transaction import Holder, Transaction, holder_of
from proctor.errors import LeaseLostError, RequestRefusedError
from proctor.evaluation.protocol import Accepted, EpisodeReport
from proctor.evaluation.record import EVALUATED, EpisodeRecord, same_science

Refusal = LeaseLostError | RequestRefusedError


def report(tx: Transaction, request: EpisodeReport) -> Accepted | Refusal:
    """Accept an evaluated outcome; keep an error with its attempt."""
    holder, record = holder_of(request.attempt), request.record
    owner = tx.first(attempts.OWNED, **named(holder))
    if owner is None:
        return superseded(tx, "episode", holder, kept=record)
    planned = tx.first(episodes.FIND, episode=record.episode_id)
    mismatch = _mismatch(planned, holder.item, record)
    if mismatch:
        return _refuse(tx, EventKind.REFUSED, holder, owner["id"], record, mismatch)
    if record.outcome not in EVALUATED:
        return _keep_error(tx, owner, record)
    return accept(tx, holder, owner["id"], record)


def accept(tx: Transaction, holder: Holder, attempt: int, record: EpisodeRecord) -> Accepted | Refusal:
    """Make this the result of its episode, unless there is one already."""
    text = msgspec.json.encode(record).decode()
    row = tx.first(
        episodes.ACCEPT,
        **named(holder),
        attempt=attempt,
        episode=record.episode_id,
        outcome=record.outcome.value,
        record=text,
        time=tx.time,
    )
    if row is None:
        return _duplicate(tx, holder, attempt, record)
    tx.count(row["task"], **{record.outcome.value: +1})
    detail = {"outcome": record.outcome, "steps": record.steps, "sha256": record_digest(text)}
    tx.record(EventKind.ACCEPTED, detail, item=holder.item, attempt=attempt, episode=record.episode_id)
    tx.changes.accepted.append(text)
    return Accepted(stored=True)


def record_digest(text: str) -> str:
    """SHA-256, hexadecimal, of a record as stored: ties an event to the bytes it announced."""
    return hashlib.sha256(text.encode()).hexdigest()


def named(holder: Holder) -> dict[str, Any]:
    """A holder as the parameters of an owner's guard."""
    return {
        "item": holder.item,
        "epoch": holder.epoch,
        "token": holder.token_sha256,
        "worker": holder.worker,
    }


def _mismatch(planned: Any, item: int, record: EpisodeRecord) -> str:
    if planned is None or planned["item_id"] != item:
        return f"episode_id: {record.episode_id!r} is not an episode of item {item}"
    spec = msgspec.json.decode(planned["spec"], type=Episode)
    for field in ("task", "index", "repetition", "seed"):
        if getattr(record, field) != getattr(spec, field):
            return f"{field}: {getattr(record, field)!r} was planned as {getattr(spec, field)!r}"
    return ""


def _keep_error(tx: Transaction, owner: RowMapping, record: EpisodeRecord) -> Accepted:
    attempt, item, episode = owner["id"], owner["item_id"], record.episode_id
    if tx.first(events.ERROR_REPORTED, attempt=attempt, episode=episode):
        return Accepted(stored=False)
    tx.record(EventKind.EPISODE_ERROR, record, item=item, attempt=attempt, episode=episode)
    tx.count(record.task, **{record.outcome.value: +1})
    tx.execute(episodes.BLAME, item=item, episode=episode)
    tx.changes.faults.append(as_line(episode_fault(owner, record, tx.time)))
    return Accepted(stored=True)


def _duplicate(tx: Transaction, holder: Holder, attempt: int, record: EpisodeRecord) -> Accepted | Refusal:
    accepted = tx.first(episodes.FIND, episode=record.episode_id)
    if accepted is None or accepted["record"] is None:
        raise AssertionError("an open attempt could not store a missing episode of its own item")
    first = msgspec.json.decode(accepted["record"], type=EpisodeRecord)
    if same_science(first, record):
        return Accepted(stored=False)
    message = (
        f"episode {record.episode_id!r} was accepted as {first.outcome.value} after {first.steps} steps; "
        f"{record.outcome.value} after {record.steps} steps contradicts it"
    )
    return _refuse(tx, EventKind.CONFLICT, holder, attempt, record, message)


def _refuse(
    tx: Transaction, kind: EventKind, holder: Holder, attempt: int, record: EpisodeRecord, message: str
) -> RequestRefusedError:
    detail = {"request": "episode", "worker": holder.worker, "reason": message, "kept": record}
    tx.record(kind, detail, item=holder.item, attempt=attempt)
    return RequestRefusedError(message)
