"""Statements on `work_item`."""

from __future__ import annotations

from sqlalchemy import bindparam as the
from sqlalchemy import case, exists, insert, select, update

from proctor.coordinator.schema import episode, work_item
from proctor.coordinator.states import ItemState

CREATE = insert(work_item)
"""Columns as parameters."""

_NEXT = (
    select(work_item.c.id)
    .where(
        work_item.c.run_id == the("the_run"),
        work_item.c.task == the("the_task"),
        work_item.c.state == ItemState.PENDING,
    )
    .order_by(work_item.c.charged, work_item.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)
    .scalar_subquery()
)

LEASE = (
    update(work_item)
    .where(
        work_item.c.run_id == the("the_run"), work_item.c.id == _NEXT, work_item.c.state == ItemState.PENDING
    )
    .values(state=ItemState.LEASED, attempts=work_item.c.attempts + 1)
    .returning(work_item.c.id, work_item.c.attempts)
)
"""The task's next item, one that failed before coming last."""

_missing = exists().where(
    episode.c.run_id == work_item.c.run_id,
    episode.c.item_id == work_item.c.id,
    episode.c.outcome.is_(None),
)

RETURN = (
    update(work_item)
    .where(
        work_item.c.run_id == the("the_run"),
        work_item.c.id == the("the_item"),
        work_item.c.state == ItemState.LEASED,
    )
    .values(
        state=case(
            (~_missing, ItemState.DONE),
            (work_item.c.charged + the("the_charge") >= the("the_limit"), ItemState.QUARANTINED),
            else_=ItemState.PENDING,
        ),
        charged=work_item.c.charged + the("the_charge"),
    )
    .returning(work_item.c.task, work_item.c.state, work_item.c.charged)
)
"""After its attempt an item is done if nothing is missing, else back, else out of budget."""

QUARANTINED = (
    select(work_item.c.id, work_item.c.attempts)
    .where(work_item.c.run_id == the("the_run"), work_item.c.state == ItemState.QUARANTINED)
    .order_by(work_item.c.id)
)

RENEW_BUDGET = (
    update(work_item)
    .where(work_item.c.run_id == the("the_run"), work_item.c.id == the("the_item"))
    .values(
        state=case((work_item.c.state == ItemState.QUARANTINED, ItemState.PENDING), else_=work_item.c.state),
        charged=0,
    )
)
CHARGED = select(work_item.c.id, work_item.c.task, work_item.c.state).where(
    work_item.c.run_id == the("the_run"), work_item.c.charged > 0
)
