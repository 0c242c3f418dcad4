"""Alembic's entry: migrates the connection it is given, in the transaction that is open on it."""

from __future__ import annotations

from alembic import context

from proctor.coordinator.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
