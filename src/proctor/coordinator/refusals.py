"""Saying no. A refusal changes nothing but the history.

Refusals are returned, not raised, because their event must be committed.
"""

from __future__ import annotations

from typing import Any

from proctor.coordinator.statements import attempts
from proctor.coordinator.states import AttemptState, EventKind
from proctor.coordinator.transaction import Holder, Transaction
from proctor.errors import LeaseLostError


def superseded(tx: Transaction, request: str, holder: Holder, kept: object = None) -> LeaseLostError:
    """Refuse whoever does not hold an open attempt. `kept` is what they brought; it is put aside."""
    row = tx.first(attempts.BY_TOKEN, token=holder.token_sha256)
    reason = _reason(row, holder)
    tx.record(
        EventKind.REFUSED,
        {"request": request, "worker": holder.worker, "epoch": holder.epoch, "reason": reason, "kept": kept},
        item=holder.item,
        attempt=None if row is None else row["id"],
    )
    return LeaseLostError(f"{request}: {reason}")


def _reason(row: Any, holder: Holder) -> str:
    if row is None:
        return f"no attempt of item {holder.item} has this token"
    if row["state"] != AttemptState.OPEN:
        return f"attempt {row['number']} of item {row['item_id']} has ended: {row['state']}"
    return f"the token belongs to worker {row['worker']!r}, item {row['item_id']}, epoch {row['epoch']}"
