"""Statements on `event`."""

from __future__ import annotations

from sqlalchemy import bindparam as the
from sqlalchemy import func, insert, select

from proctor.coordinator.schema import event_log
from proctor.coordinator.states import EventKind

RECORD = insert(event_log)
"""Columns as parameters."""

ERROR_REPORTED = select(event_log.c.id).where(
    event_log.c.attempt_id == the("the_attempt"),
    event_log.c.episode_id == the("the_episode"),
    event_log.c.kind == EventKind.EPISODE_ERROR,
)

LAST_AT = select(func.max(event_log.c.at)).where(event_log.c.run_id == the("the_run"))

OF_KIND = (
    select(event_log)
    .where(event_log.c.run_id == the("the_run"), event_log.c.kind == the("the_kind"))
    .order_by(event_log.c.id)
)
