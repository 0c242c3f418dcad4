"""The first schema.

Revision ID: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TRIGGERS = (
    """
        CREATE TRIGGER event_no_update BEFORE UPDATE ON event
        BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    """
        CREATE TRIGGER event_no_delete BEFORE DELETE ON event
        BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    """
        CREATE TRIGGER episode_accepted BEFORE UPDATE ON episode WHEN OLD.outcome IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'an accepted result is immutable'); END""",
    """
        CREATE TRIGGER episode_planned
        BEFORE UPDATE OF run_id, id, item_id, position, task, spec ON episode
        BEGIN SELECT RAISE(ABORT, 'the plan is immutable'); END""",
    """
        CREATE TRIGGER episode_no_delete BEFORE DELETE ON episode
        BEGIN SELECT RAISE(ABORT, 'the plan is immutable'); END""",
)


def _create_run() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("plan_hash", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'cancelled')", name=op.f("ck_run_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("name", name=op.f("uq_run_name")),
    )


def _create_event() -> None:
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=True),
        sa.Column("attempt_id", sa.Integer(), nullable=True),
        sa.Column("episode_id", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('created', 'started', 'resumed', 'cancelled', 'hello', 'claimed', 'accepted', "
            "'episode_error', 'conflict', 'refused', 'ended', 'quarantined')",
            name=op.f("ck_event_kind"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_event_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index("ix_event_kind", "event", ["run_id", "kind"], unique=False)
    op.create_index(
        "uq_event_episode_error",
        "event",
        ["attempt_id", "episode_id"],
        unique=True,
        sqlite_where=sa.text("kind = 'episode_error'"),
        postgresql_where=sa.text("kind = 'episode_error'"),
    )


def _create_task() -> None:
    op.create_table(
        "task",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("planned", sa.Integer(), nullable=False),
        sa.Column("success", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failure", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("policy_error", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("benchmark_error", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("infrastructure_error", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("cancelled", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("pending", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("leased", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("done", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("quarantined", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failed_attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("benchmark_error >= 0", name=op.f("ck_task_benchmark_error")),
        sa.CheckConstraint("cancelled >= 0", name=op.f("ck_task_cancelled")),
        sa.CheckConstraint("done >= 0", name=op.f("ck_task_done")),
        sa.CheckConstraint("failed_attempts >= 0", name=op.f("ck_task_failed_attempts")),
        sa.CheckConstraint("failure >= 0", name=op.f("ck_task_failure")),
        sa.CheckConstraint("infrastructure_error >= 0", name=op.f("ck_task_infrastructure_error")),
        sa.CheckConstraint("leased >= 0", name=op.f("ck_task_leased")),
        sa.CheckConstraint("pending >= 0", name=op.f("ck_task_pending")),
        sa.CheckConstraint("policy_error >= 0", name=op.f("ck_task_policy_error")),
        sa.CheckConstraint("quarantined >= 0", name=op.f("ck_task_quarantined")),
        sa.CheckConstraint("success >= 0", name=op.f("ck_task_success")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_task_run_id")),
        sa.PrimaryKeyConstraint("run_id", "task", name=op.f("pk_task")),
    )


def _create_work_item() -> None:
    op.create_table(
        "work_item",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("charged", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint(
            "state IN ('pending', 'leased', 'done', 'quarantined')", name=op.f("ck_work_item_state")
        ),
        sa.ForeignKeyConstraint(
            ["run_id", "task"], ["task.run_id", "task.task"], name=op.f("fk_work_item_run_id_task")
        ),
        sa.PrimaryKeyConstraint("run_id", "id", name=op.f("pk_work_item")),
    )
    op.create_index(
        "ix_work_item_claim", "work_item", ["run_id", "task", "state", "charged", "id"], unique=False
    )


def _create_attempt() -> None:
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("token_sha256", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("missing", sa.Text(), nullable=True),
        sa.Column("started_at", sa.Text(), nullable=False),
        sa.Column("ended_at", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('open', 'done', 'failed', 'released', 'expired', 'lost', 'abandoned')",
            name=op.f("ck_attempt_state"),
        ),
        sa.ForeignKeyConstraint(
            ["run_id", "item_id"],
            ["work_item.run_id", "work_item.id"],
            name=op.f("fk_attempt_run_id_item_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempt")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_attempt_token_sha256")),
    )
    op.create_index("ix_attempt_worker", "attempt", ["run_id", "worker", "state"], unique=False)
    op.create_index(
        "uq_attempt_open",
        "attempt",
        ["run_id", "item_id"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )


def _create_episode() -> None:
    op.create_table(
        "episode",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("record", sa.Text(), nullable=True),
        sa.Column("attempt_id", sa.Integer(), nullable=True),
        sa.Column("accepted_at", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "outcome IN ('success', 'failure', 'policy_error')", name=op.f("ck_episode_outcome")
        ),
        sa.CheckConstraint(
            "(outcome IS NULL) = (record IS NULL) AND (outcome IS NULL) = (attempt_id IS NULL)",
            name=op.f("ck_episode_whole"),
        ),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempt.id"], name=op.f("fk_episode_attempt_id")),
        sa.ForeignKeyConstraint(
            ["run_id", "item_id"],
            ["work_item.run_id", "work_item.id"],
            name=op.f("fk_episode_run_id_item_id"),
        ),
        sa.PrimaryKeyConstraint("run_id", "id", name=op.f("pk_episode")),
    )
    op.create_index("ix_episode_item", "episode", ["run_id", "item_id", "outcome"], unique=False)


def upgrade() -> None:
    """Make every table."""
    _create_run()
    _create_event()
    _create_task()
    _create_work_item()
    _create_attempt()
    _create_episode()
    if op.get_bind().dialect.name == "sqlite":
        for trigger in _TRIGGERS:
            op.execute(trigger)
