"""Statements on `run` and on the counters in `task`."""

from __future__ import annotations

from sqlalchemy import bindparam as the
from sqlalchemy import func, insert, select, update

from proctor.coordinator.schema import COUNTERS, run, task
from proctor.coordinator.states import RunState

CREATE = insert(run).returning(run.c.id)
"""Columns as parameters."""

CREATE_TASKS = insert(task)
"""Columns as parameters."""

FIND = select(run).where(run.c.name == the("the_name"))

NAMES = select(run.c.name).order_by(run.c.name)

OWNER = select(run.c.epoch, run.c.state).where(run.c.id == the("the_run"))

TAKE_EPOCH = (
    update(run)
    .where(run.c.id == the("the_run"), run.c.epoch == the("the_epoch"))
    .values(epoch=run.c.epoch + 1)
    .returning(run.c.epoch)
)
"""Guarded by the epoch that was read: of two takers one gets it."""

REOPEN = (
    update(run)
    .where(run.c.id == the("the_run"), run.c.epoch == the("the_epoch"))
    .values(state=RunState.OPEN, settings=the("the_settings"))
)

CANCEL = (
    update(run)
    .where(run.c.id == the("the_run"), run.c.epoch == the("the_epoch"), run.c.state == RunState.OPEN)
    .values(state=RunState.CANCELLED)
    .returning(run.c.id)
)

COUNT = (
    update(task)
    .where(task.c.run_id == the("the_run"), task.c.task == the("the_task"))
    .values({name: task.c[name] + the(f"the_{name}") for name in COUNTERS})
)
"""Adds one signed figure per counter."""

TASKS = select(task).where(task.c.run_id == the("the_run")).order_by(task.c.task)

NEXT_TASK = (
    select(task.c.task)
    .where(task.c.run_id == the("the_run"), task.c.pending > 0)
    .order_by(
        (task.c.task == the("the_preferred")).desc(),
        (task.c.leased == 0).desc(),
        task.c.pending.desc(),
        task.c.task,
    )
    .limit(1)
)
"""The preferred task if it has pending items: the worker has its simulator. Else one that nobody works on, so
that it is made once; else, as all have somebody, the one with most pending items, which shortens the tail."""

UNSETTLED = select(func.coalesce(func.sum(task.c.pending + task.c.leased), 0)).where(
    task.c.run_id == the("the_run")
)
