"""The tables of a run's store. The migrations make the same schema; a test compares the two.

    run        one row per run: what it is (fingerprint), who owns it (epoch), whether it still hands out work
    task       counters, so that progress and the next claim never count rows
    work_item  one window of episodes of one task
    attempt    one lease of one item
    episode    one planned trial, and its accepted result once there is one
    event      what happened, append-only

    item       pending -> leased -> done | pending | quarantined
    attempt    open -> done | failed | released | expired | lost | abandoned

Rules that survive bugs in the code above them are in the schema: closed vocabularies are checks, an item has
at most one open attempt, an accepted result and an event can be neither changed nor deleted.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sqlalchemy import (
    DDL,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    event,
    text,
)
from sqlalchemy.schema import ExecutableDDLElement

from proctor.coordinator.states import AttemptState, EventKind, ItemState, RunState

SCHEMA: Final = "0001"
"""Newest revision this code knows."""


COUNTERS: Final = (
    "success",
    "failure",
    "policy_error",
    "benchmark_error",
    "infrastructure_error",
    "cancelled",
    "pending",
    "leased",
    "done",
    "quarantined",
    "failed_attempts",
)
"""Counter columns of `task`: accepted outcomes, error reports, items by state, charged attempts."""


def _one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

run = Table(
    "run",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("plan_hash", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    _one_of("state", RunState),
)

task = Table(
    "task",
    metadata,
    Column("run_id", Integer, ForeignKey("run.id"), primary_key=True),
    Column("task", Text, primary_key=True),
    Column("planned", Integer, nullable=False),
    *(Column(name, Integer, nullable=False, server_default=text("0")) for name in COUNTERS),
    *(CheckConstraint(f"{name} >= 0", name=name) for name in COUNTERS),
)

work_item = Table(
    "work_item",
    metadata,
    Column("run_id", Integer, primary_key=True),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("task", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("charged", Integer, nullable=False, server_default=text("0")),
    ForeignKeyConstraint(["run_id", "task"], ["task.run_id", "task.task"]),
    _one_of("state", ItemState),
    Index("ix_work_item_claim", "run_id", "task", "state", "charged", "id"),
)

attempt = Table(
    "attempt",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", Integer, nullable=False),
    Column("item_id", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("worker", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("token_sha256", Text, nullable=False, unique=True),
    Column("state", Text, nullable=False),
    Column("fault", Text),
    Column("error", Text),
    Column("missing", Text),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
    ForeignKeyConstraint(["run_id", "item_id"], ["work_item.run_id", "work_item.id"]),
    _one_of("state", AttemptState),
    Index(
        "uq_attempt_open",
        "run_id",
        "item_id",
        unique=True,
        sqlite_where=text("state = 'open'"),
        postgresql_where=text("state = 'open'"),
    ),
    Index("ix_attempt_worker", "run_id", "worker", "state"),
)

episode = Table(
    "episode",
    metadata,
    Column("run_id", Integer, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("item_id", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("task", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    Column("outcome", Text),
    Column("record", Text),
    Column("attempt_id", Integer, ForeignKey("attempt.id")),
    Column("accepted_at", Text),
    ForeignKeyConstraint(["run_id", "item_id"], ["work_item.run_id", "work_item.id"]),
    CheckConstraint("outcome IN ('success', 'failure', 'policy_error')", name="outcome"),
    CheckConstraint(
        "(outcome IS NULL) = (record IS NULL) AND (outcome IS NULL) = (attempt_id IS NULL)", name="whole"
    ),
    Index("ix_episode_item", "run_id", "item_id", "outcome"),
)

event_log = Table(
    "event",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", Integer, ForeignKey("run.id"), nullable=False),
    Column("at", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("item_id", Integer),
    Column("attempt_id", Integer),
    Column("episode_id", Text),
    Column("detail", Text, nullable=False),
    _one_of("kind", EventKind),
    Index("ix_event_kind", "run_id", "kind"),
    Index(
        "uq_event_episode_error",
        "attempt_id",
        "episode_id",
        unique=True,
        sqlite_where=text("kind = 'episode_error'"),
        postgresql_where=text("kind = 'episode_error'"),
    ),
)

SQLITE_TRIGGERS: Final = {
    "event_no_update": """
        CREATE TRIGGER event_no_update BEFORE UPDATE ON event
        BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    "event_no_delete": """
        CREATE TRIGGER event_no_delete BEFORE DELETE ON event
        BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    "episode_accepted": """
        CREATE TRIGGER episode_accepted BEFORE UPDATE ON episode WHEN OLD.outcome IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'an accepted result is immutable'); END""",
    "episode_planned": """
        CREATE TRIGGER episode_planned
        BEFORE UPDATE OF run_id, id, item_id, position, task, spec ON episode
        BEGIN SELECT RAISE(ABORT, 'the plan is immutable'); END""",
    "episode_no_delete": """
        CREATE TRIGGER episode_no_delete BEFORE DELETE ON episode
        BEGIN SELECT RAISE(ABORT, 'the plan is immutable'); END""",
}


def _for_sqlite(statement: str) -> ExecutableDDLElement:
    ddl: ExecutableDDLElement = DDL(statement)  # type: ignore[no-untyped-call]
    return ddl.execute_if(dialect="sqlite")


for _statement in SQLITE_TRIGGERS.values():
    event.listen(metadata, "after_create", _for_sqlite(_statement))
