"""Bringing a database to the schema of this code, or refusing it.

Alembic takes half a second to import, so it is imported only when there is something to migrate.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert, inspect, select
from sqlalchemy import column as sql_column
from sqlalchemy import table as sql_table

from proctor.coordinator.schema import SCHEMA, metadata
from proctor.errors import UsageError

if TYPE_CHECKING:
    from alembic.config import Config

_FOLDER = Path(__file__).parent / "migrations"
_VERSION = sql_table("alembic_version", sql_column("version_num"))


def prepare(connection: Connection, name: str) -> None:
    """Make or migrate the tables, within the caller's transaction. `name` is for messages.

    Raises UsageError for a database that is not a run store, or that a newer proctor has written.
    """
    revision = _revision(connection, name)
    if revision is None:
        _create(connection)
    elif revision != SCHEMA:
        _upgrade(connection, name, revision)


def require_schema(connection: Connection, name: str) -> None:
    """Refuse (UsageError) a database that this code cannot read as it is."""
    revision = _revision(connection, name)
    if revision is None:
        raise UsageError(f"{name} is not a run store: it is empty")
    if revision != SCHEMA:
        raise UsageError(
            f"{name} has schema {revision!r}, this proctor reads {SCHEMA!r}; resume the run once"
        )


def migration_config(connection: Connection) -> Config:
    """Alembic's configuration for the shipped migrations, on this connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", f"{_FOLDER / 'pre'}\n{_FOLDER / 'post'}")
    config.attributes["connection"] = connection
    return config


def _revision(connection: Connection, name: str) -> str | None:
    """None for an empty database."""
    tables = set(inspect(connection).get_table_names())
    if "alembic_version" in tables:
        return str(connection.execute(select(_VERSION.c.version_num)).scalar_one())
    if tables:
        listed = ", ".join(sorted(tables))
        raise UsageError(f"{name} is a database, but not a run store: it holds {listed}")
    return None


def _create(connection: Connection) -> None:
    from sqlalchemy.schema import Column, MetaData, Table
    from sqlalchemy.types import String

    metadata.create_all(connection)
    version = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
    version.create(connection)
    connection.execute(insert(version).values(version_num=SCHEMA))


def _upgrade(connection: Connection, name: str, revision: str) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory

    config = migration_config(connection)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if revision not in known:
        raise UsageError(
            f"{name} has schema {revision!r}, newer than this proctor knows ({SCHEMA!r}); "
            "open it with the version that wrote it, or a later one"
        )
    command.upgrade(config, "head")
