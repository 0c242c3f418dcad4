"""Statements on `attempt`."""

from __future__ import annotations

from sqlalchemy import bindparam as the
from sqlalchemy import exists, insert, select, update

from proctor.coordinator.schema import attempt, episode
from proctor.coordinator.states import AttemptState

OPEN = insert(attempt).returning(attempt.c.id)
"""Columns as parameters."""

_missing = exists().where(
    episode.c.run_id == attempt.c.run_id,
    episode.c.item_id == attempt.c.item_id,
    episode.c.outcome.is_(None),
)

_owned = (
    attempt.c.run_id == the("the_run"),
    attempt.c.token_sha256 == the("the_token"),
    attempt.c.epoch == the("the_epoch"),
    attempt.c.item_id == the("the_item"),
    attempt.c.worker == the("the_worker"),
    attempt.c.state == AttemptState.OPEN,
)

OWNED = select(attempt).where(*_owned)

FINISH = (
    update(attempt)
    .where(*_owned, ~_missing)
    .values(state=AttemptState.DONE, ended_at=the("the_time"))
    .returning(attempt.c.id, attempt.c.number)
)
"""Only when every episode of the item has its result."""

END = (
    update(attempt)
    .where(*_owned)
    .values(
        state=the("the_state"),
        fault=the("the_fault"),
        error=the("the_error"),
        missing=the("the_missing"),
        ended_at=the("the_time"),
    )
    .returning(attempt)
)

BY_TOKEN = select(attempt).where(
    attempt.c.run_id == the("the_run"), attempt.c.token_sha256 == the("the_token")
)

_holder = (attempt.c.item_id, attempt.c.epoch, attempt.c.token_sha256, attempt.c.worker)

OPEN_OF_WORKER = (
    select(*_holder)
    .where(
        attempt.c.run_id == the("the_run"),
        attempt.c.worker == the("the_worker"),
        attempt.c.state == AttemptState.OPEN,
    )
    .order_by(attempt.c.id)
)

ALL_OPEN = (
    select(*_holder)
    .where(attempt.c.run_id == the("the_run"), attempt.c.state == AttemptState.OPEN)
    .order_by(attempt.c.id)
)

ALL = select(attempt).where(attempt.c.run_id == the("the_run")).order_by(attempt.c.id)
