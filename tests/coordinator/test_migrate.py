import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from proctor.coordinator.audit import audit
from proctor.coordinator.database import writing_engine
from proctor.coordinator.export import export_run
from proctor.coordinator.migrate import migration_config, prepare
from proctor.coordinator.schema import SCHEMA, metadata
from proctor.coordinator.store import New, Restart, Resume, open_store
from proctor.errors import UsageError
from proctor.evaluation.record import Outcome
from proctor.testing.store_driver import Clock, Driver, toy_plan

DATA = Path(__file__).parent / "data"


def schema_of(connection) -> set[tuple[str, str]]:
    """Names and kinds of everything in the database, columns included."""
    rows = connection.execute(text("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"))
    found = {(row.type, row.name) for row in rows}
    for kind, name in sorted(found):
        if kind == "table":
            columns = connection.execute(text(f"PRAGMA table_info({name})"))
            found |= {("column", str(tuple(row)[1:])) for row in columns}
            (sql,) = connection.scalars(text(f"SELECT sql FROM sqlite_master WHERE name = '{name}'"))
            parts = re.split(r",\s*\n|\n\)", sql)
            found |= {("check", f"{name} {part.strip()}") for part in parts if "CHECK" in part}
        if kind in ("trigger", "index"):
            sql = connection.scalar(text(f"SELECT sql FROM sqlite_master WHERE name = '{name}'"))
            found.add((kind, " ".join((sql or name).split())))
    return found


@pytest.fixture
def connect(tmp_path):
    connections = []

    def connect_(name: str):
        connections.append(writing_engine(tmp_path / name).connect())
        return connections[-1]

    yield connect_
    for connection in connections:
        connection.close()


def test_migrations_make_what_the_metadata_says(connect):
    migrated, made = connect("migrated.db"), connect("made.db")
    command.upgrade(migration_config(migrated), "head")
    assert compare_metadata(MigrationContext.configure(migrated), metadata) == []
    prepare(made, "made.db")
    assert schema_of(migrated) == schema_of(made)


def test_the_newest_revision_is_the_one_in_the_code(connect):
    scripts = ScriptDirectory.from_config(migration_config(connect("run.db")))
    assert scripts.get_heads() == [SCHEMA]


def test_preparing_twice_changes_nothing(connect):
    connection = connect("run.db")
    prepare(connection, "run.db")
    before = schema_of(connection)
    prepare(connection, "run.db")
    assert schema_of(connection) == before


def plant_revision(path: Path, revision: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = ?", [revision])
    connection.commit()
    connection.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "run.db"
    open_store(f"sqlite:///{path}", New(toy_plan())).close()
    plant_revision(path, "9999")
    before = path.read_bytes()
    for attempt in (
        lambda: open_store(f"sqlite:///{path}", Restart("r")),
        lambda: export_run(path, "r"),
    ):
        with pytest.raises(UsageError, match="9999"):
            attempt()
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    with pytest.raises(UsageError, match="not a run store: it holds songs"):
        open_store(f"sqlite:///{path}", New(toy_plan()))


@pytest.mark.parametrize("path", sorted(DATA.glob("schema-*.db")), ids=lambda path: path.stem)
def test_a_store_of_every_released_schema_reads_and_resumes(tmp_path, path):
    copy = tmp_path / "run.db"
    shutil.copy(path, copy)
    clock = Clock()
    driver = Driver(open_store(f"sqlite:///{copy}", Resume(toy_plan()), clock=clock), clock)
    found = export_run(copy, "r")
    assert [(r.episode_id, r.outcome) for r in found.records] == [
        ("reach/0/0", Outcome.SUCCESS),
        ("reach/1/0", Outcome.FAILURE),
        ("reach/2/0", Outcome.POLICY_ERROR),
    ]
    driver.run_out()
    driver.store.close()
    assert len(export_run(copy, "r").records) == 8
    assert audit(copy) == ()


def test_the_newest_schema_has_its_fixture():
    assert (DATA / f"schema-{SCHEMA}.db").is_file()
