"""The checker itself: every promise is broken on purpose, and must be missed."""

import sqlite3
from pathlib import Path

import msgspec
import pytest

from proctor.coordinator.audit import audit
from proctor.coordinator.schema import SQLITE_TRIGGERS
from proctor.coordinator.store import New, open_store
from proctor.evaluation.record import Outcome
from proctor.testing.store_driver import Clock, Driver, toy_plan, toy_record


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A run with one item done, one failed after a result, one leased, one untouched."""
    path, clock = tmp_path / "run.db", Clock()
    driver = Driver(open_store(f"sqlite:///{path}", New(toy_plan()), clock=clock), clock)
    driver.finish(driver.claim(task="reach"))
    begun = driver.claim(task="reach")
    driver.report(begun, toy_record(begun.episodes[0]))
    driver.report(begun, toy_record(begun.episodes[1], Outcome.INFRASTRUCTURE_ERROR))
    driver.complete(begun)
    driver.claim("w1", task="park")
    driver.store.close()
    return path


def plant(database: Path, *statements: str) -> None:
    """Change what nobody may change: the guards are taken away and put back."""
    connection = sqlite3.connect(database)
    for name in SQLITE_TRIGGERS:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        assert connection.execute(statement).rowcount > 0, "the planted violation changed nothing"
    for trigger in SQLITE_TRIGGERS.values():
        connection.execute(trigger)
    connection.commit()
    connection.close()


def test_an_honest_history_has_no_violation(database):
    assert audit(database) == ()


@pytest.mark.parametrize(
    ("promise", "statement"),
    [
        ("I1", "INSERT INTO event SELECT NULL, run_id, at, epoch, kind, item_id, attempt_id, episode_id,"
               " detail FROM event WHERE kind = 'accepted' LIMIT 1"),
        ("I1", "DELETE FROM event WHERE kind = 'accepted' AND episode_id = 'reach/0/0'"),
        ("I1", "UPDATE episode SET outcome = NULL, record = NULL, attempt_id = NULL WHERE id = 'reach/0/0'"),
        ("I1", "UPDATE episode SET record = (SELECT record FROM episode WHERE id = 'reach/1/0')"
               " WHERE id = 'reach/0/0'"),
        ("I3", "UPDATE episode SET attempt_id = 3 WHERE id = 'reach/0/0'"),
        ("I3", "UPDATE event SET attempt_id = 2 WHERE kind = 'accepted' AND episode_id = 'reach/0/0'"),
        ("I3", "UPDATE event SET id = id + 1000 WHERE kind = 'accepted' AND episode_id = 'reach/0/0'"),
        ("I4", "UPDATE work_item SET state = 'leased' WHERE id = 0"),
        ("I4", "UPDATE work_item SET state = 'pending' WHERE id = 0"),
        ("I4", "UPDATE work_item SET state = 'done' WHERE id = 1"),
        ("I4", "UPDATE attempt SET state = 'lost' WHERE state = 'open'"),
        ("I4", "DELETE FROM episode WHERE id = 'park/3/0'"),
        ("I5", "UPDATE episode SET record = replace(record, '\"steps\":10', '\"steps\":11')"
               " WHERE outcome <> ''"),
        ("I5", "UPDATE episode SET outcome = 'failure' WHERE id = 'reach/0/0'"),
        ("I5", "UPDATE task SET success = success + 1"),
        ("I5", "UPDATE task SET failed_attempts = 0 WHERE task = 'reach'"),
        ("I5", "UPDATE task SET infrastructure_error = 0 WHERE task = 'reach'"),
    ],
)  # fmt: skip
def test_a_planted_violation_is_found(database, promise, statement):
    plant(database, statement)
    assert promise in {violation[:2] for violation in audit(database)}


@pytest.mark.parametrize("trigger", SQLITE_TRIGGERS)
def test_a_missing_guard_is_found(database, trigger):
    connection = sqlite3.connect(database)
    connection.execute(f"DROP TRIGGER {trigger}")
    connection.close()
    assert audit(database) == (f"I2: the guard {trigger} is not in place",)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET detail = '{}'",
        "DELETE FROM event",
        "UPDATE episode SET outcome = 'failure' WHERE id = 'reach/0/0'",
        "UPDATE episode SET record = '{}' WHERE id = 'reach/0/0'",
        "UPDATE episode SET outcome = NULL, record = NULL, attempt_id = NULL WHERE id = 'reach/0/0'",
        "UPDATE episode SET spec = '{}' WHERE id = 'park/3/0'",
        "UPDATE episode SET item_id = 0 WHERE id = 'park/3/0'",
        "DELETE FROM episode WHERE id = 'park/3/0'",
        "UPDATE work_item SET state = 'unheard of'",
        "UPDATE attempt SET state = 'unheard of'",
        "UPDATE episode SET outcome = 'cancelled', record = '{}', attempt_id = 1 WHERE id = 'park/3/0'",
        "UPDATE episode SET outcome = 'success' WHERE id = 'park/3/0'",
        "UPDATE task SET pending = -1",
        "INSERT INTO attempt SELECT 99, run_id, item_id, 9, worker, epoch, 'another', state, NULL, NULL,"
        " NULL, started_at, NULL FROM attempt WHERE state = 'open'",
    ],
)
def test_the_schema_itself_refuses(database, statement):
    connection = sqlite3.connect(database)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    connection.close()


def test_no_token_is_in_the_file(tmp_path):
    path, clock = tmp_path / "run.db", Clock()
    driver = Driver(open_store(f"sqlite:///{path}", New(toy_plan()), clock=clock), clock)
    lease = driver.claim()
    driver.report(lease, toy_record(lease.episodes[0]))
    driver.release(lease)
    driver.store.close()
    contents = path.read_bytes()
    assert b"reach/0/0" in contents
    assert lease.token.encode() not in contents
    assert msgspec.json.encode(lease.token) not in contents
