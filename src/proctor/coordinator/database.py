"""SQLite as the store uses it: one writing connection, readers beside it, faults with a name.

WAL needs shared memory, so a run directory must not be on a network file system.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from proctor.errors import StorageFault

_STORAGE_CODES = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the database is read-only",
    sqlite3.SQLITE_PERM: "access is not permitted",
    sqlite3.SQLITE_CANTOPEN: "the database cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_CORRUPT: "the database is damaged",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
    sqlite3.SQLITE_BUSY: "another process holds the database",
}
_BUSY_TIMEOUT_MS = 5_000
_ANY_THREAD: dict[str, Any] = {"check_same_thread": False}


def writing_engine(path: Path) -> Engine:
    """The engine of the one writer. Transactions begin IMMEDIATE and commits reach the disk."""
    engine = create_engine(f"sqlite:///{path}", connect_args=_ANY_THREAD, poolclass=StaticPool)

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # no implicit transactions: the begin event below is the only one
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute(f"PRAGMA busy_timeout={_BUSY_TIMEOUT_MS}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def reading_engine(path: Path) -> Engine:
    """An engine that sees committed states only and can write nothing."""
    engine = create_engine(f"sqlite:///{path}", connect_args=_ANY_THREAD)

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute(f"PRAGMA busy_timeout={_BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA query_only=ON")

    return engine


def disconnect(connection: Connection) -> None:
    """Close the writer's connection for good; the last one to leave folds the WAL into the file."""
    connection.close()
    connection.engine.dispose()


def storage_fault(error: BaseException, path: Path) -> StorageFault | None:
    """What a database error says about the disk under it; None when it says nothing."""
    original = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(original, "sqlite_errorcode", None)
    if code is None:
        return None
    reason = _STORAGE_CODES.get(code & 0xFF)
    if reason is None:
        return None
    return StorageFault(f"{path}: {reason} ({original}); nothing accepted is lost")
