"""Statements on `episode`."""

from __future__ import annotations

from sqlalchemy import bindparam as the
from sqlalchemy import exists, insert, select, update

from proctor.coordinator.schema import attempt, episode, event_log
from proctor.coordinator.states import AttemptState, EventKind

PLAN = insert(episode)
"""Columns as parameters."""

_of_item = (episode.c.run_id == the("the_run"), episode.c.item_id == the("the_item"))
_lease_order = (episode.c.failures, episode.c.position)

MISSING = (
    select(episode.c.id, episode.c.spec).where(*_of_item, episode.c.outcome.is_(None)).order_by(*_lease_order)
)
"""What an attempt still has to run. Whatever failed before comes last, so that it cannot starve the rest."""

_owner = exists().where(
    attempt.c.run_id == episode.c.run_id,
    attempt.c.item_id == episode.c.item_id,
    attempt.c.id == the("the_attempt"),
    attempt.c.token_sha256 == the("the_token"),
    attempt.c.epoch == the("the_epoch"),
    attempt.c.worker == the("the_worker"),
    attempt.c.state == AttemptState.OPEN,
)

ACCEPT = (
    update(episode)
    .where(*_of_item, episode.c.id == the("the_episode"), episode.c.outcome.is_(None), _owner)
    .values(
        outcome=the("the_outcome"),
        record=the("the_record"),
        attempt_id=the("the_attempt"),
        accepted_at=the("the_time"),
    )
    .returning(episode.c.task)
)

FIND = select(episode).where(episode.c.run_id == the("the_run"), episode.c.id == the("the_episode"))

BLAME = (
    update(episode)
    .where(*_of_item, episode.c.id == the("the_episode"), episode.c.outcome.is_(None))
    .values(failures=episode.c.failures + 1)
)

PLANNED = select(episode).where(episode.c.run_id == the("the_run")).order_by(episode.c.position)

ACCEPTED = (
    select(episode.c.record)
    .join(
        event_log,
        (event_log.c.run_id == episode.c.run_id)
        & (event_log.c.episode_id == episode.c.id)
        & (event_log.c.kind == EventKind.ACCEPTED),
    )
    .where(episode.c.run_id == the("the_run"))
    .order_by(event_log.c.id)
)
"""Accepted records in the order of their acceptance."""
