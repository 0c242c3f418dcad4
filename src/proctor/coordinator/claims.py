"""Handing out work."""

from __future__ import annotations

import secrets

import msgspec

from proctor.benchmarks.contract import Episode
from proctor.coordinator.endings import end_lost
from proctor.coordinator.statements import attempts, episodes, items, runs
from proctor.coordinator.states import AttemptState, EventKind
from proctor.coordinator.transaction import Holder, Transaction, token_digest
from proctor.evaluation.protocol import ClaimReply, ClaimRequest, Lease, RunSettings, WorkerHello
from proctor.evaluation.record import ErrorRecord

_TOKEN_BYTES = 32
_RESTARTED = ErrorRecord(
    phase="boot", type="WorkerRestarted", message="the worker introduced itself again while it held this item"
)


def hello(tx: Transaction, request: WorkerHello) -> RunSettings:
    """A worker process starts. Whatever its predecessor of the same name still holds is lost."""
    end_lost(tx, request.worker, _RESTARTED)
    tx.record(EventKind.HELLO, request)
    return tx.settings


def claim(tx: Transaction, request: ClaimRequest, lease_s: float) -> ClaimReply:
    """Lease one item, of the worker's task if there is one."""
    if tx.cancelled:
        return ClaimReply(drained=True)
    task = tx.first(runs.NEXT_TASK, preferred=request.task or "")
    if task is None:
        unsettled = tx.first(runs.UNSETTLED)
        return ClaimReply(drained=unsettled is not None and not any(unsettled.values()))
    item = tx.first(items.LEASE, task=task["task"])
    if item is None:
        return ClaimReply()
    tx.count(task["task"], pending=-1, leased=+1)
    return ClaimReply(lease=_lease(tx, request.worker, item["id"], item["attempts"], lease_s))


def _lease(tx: Transaction, worker: str, item: int, number: int, lease_s: float) -> Lease:
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    holder = Holder(item, tx.epoch, token_digest(token), worker)
    attempt = tx.insert(
        attempts.OPEN,
        item_id=item,
        number=number,
        worker=worker,
        epoch=tx.epoch,
        token_sha256=holder.token_sha256,
        state=AttemptState.OPEN,
        started_at=tx.time,
    ).scalar_one()
    tx.record(EventKind.CLAIMED, {"worker": worker, "number": number}, item=item, attempt=attempt)
    tx.changes.granted.append(holder)
    missing = tx.rows(episodes.MISSING, item=item)
    return Lease(
        item=item,
        epoch=tx.epoch,
        token=token,
        attempt=number,
        lease_s=lease_s,
        episodes=tuple(msgspec.json.decode(row["spec"], type=Episode) for row in missing),
    )
