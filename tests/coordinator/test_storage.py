"""Disks that are full, read-only or not ours; clocks that jump; requests that cannot be served."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
import time_machine
from sqlalchemy import event

from proctor.coordinator.audit import audit
from proctor.coordinator.store import New, Resume, open_store
from proctor.errors import LeaseLostError, StorageFault, UsageError
from proctor.evaluation.protocol import ClaimRequest
from proctor.limits import LEASE_S
from proctor.testing.store_driver import Driver, toy_plan, toy_record, wait


def fill_disk(driver: Driver) -> None:
    """Let the database grow no further, as on a full disk."""
    pages = "PRAGMA max_page_count"
    wait(driver.store._writer.submit(lambda tx: tx.connection.exec_driver_sql(f"{pages}=1").scalar()))


def free_disk(driver: Driver) -> None:
    driver.store._writer._connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    driver.store._writer._connection.rollback()


def use_what_is_left(driver: Driver, lease) -> None:
    """Write events, large and then small ones, until not one fits."""
    for size in (2000, 100, 1):
        with contextlib.suppress(StorageFault):
            while True:
                with pytest.raises(LeaseLostError):
                    driver.complete(lease, "x" * size)


def test_a_full_disk_is_named_and_costs_nothing_accepted(opener, database):
    driver = opener(New(toy_plan()))
    lease = driver.claim()
    driver.report(lease, toy_record(lease.episodes[0]))
    fill_disk(driver)
    use_what_is_left(driver, lease)
    with pytest.raises(StorageFault, match="the disk is full"):
        wait(driver.store.claim(ClaimRequest(worker="w" * 5000)))
    progress = driver.store.progress()
    assert progress.completed == 1
    assert "the disk is full" in progress.storage_fault
    driver.beat(lease)
    free_disk(driver)
    driver.report(lease, toy_record(lease.episodes[1]))
    driver.complete(lease)
    progress = driver.store.progress()
    assert (progress.completed, progress.storage_fault) == (2, None)
    assert audit(database) == ()


def test_a_lease_that_runs_out_on_a_full_disk_ends_when_there_is_space(opener):
    driver = opener(New(toy_plan()))
    lease = driver.claim()
    fill_disk(driver)
    use_what_is_left(driver, lease)
    with pytest.raises(StorageFault):
        driver.pass_time(LEASE_S)
    free_disk(driver)
    assert driver.pass_time(1) == 1


def test_a_directory_that_is_not_there_is_a_storage_fault(tmp_path):
    with pytest.raises(StorageFault, match="cannot be opened"):
        open_store(f"sqlite:///{tmp_path}/missing/run.db", New(toy_plan()))


@pytest.fixture
def nobody() -> Iterator[None]:
    """Without root's right to write everywhere."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)


def test_a_read_only_directory_is_a_storage_fault(tmp_path, nobody):
    if os.access(tmp_path, os.W_OK, effective_ids=True):
        tmp_path.chmod(0o500)
    with pytest.raises(StorageFault):
        open_store(f"sqlite:///{tmp_path}/run.db", New(toy_plan()))


def test_a_read_only_database_is_a_storage_fault(opener):
    driver = opener(New(toy_plan()))
    lease = driver.claim()
    wait(driver.store._writer.submit(lambda tx: None))
    driver.store._writer._connection.exec_driver_sql("PRAGMA query_only=ON")
    driver.store._writer._connection.rollback()
    with pytest.raises(StorageFault, match="read-only"):
        driver.report(lease, toy_record(lease.episodes[0]))
    driver.store._writer._connection.exec_driver_sql("PRAGMA query_only=OFF")
    driver.store._writer._connection.rollback()
    assert driver.report(lease, toy_record(lease.episodes[0]))


def test_a_journal_that_cannot_be_written_is_a_storage_fault(tmp_path):
    (tmp_path / "episodes.jsonl").mkdir()
    with pytest.raises(StorageFault, match=r"episodes\.jsonl"):
        open_store(f"sqlite:///{tmp_path}/run.db", New(toy_plan()), journal=tmp_path / "episodes.jsonl")


def test_a_file_that_is_no_database_is_a_storage_fault(tmp_path):
    path = tmp_path / "run.db"
    path.write_bytes(b"x" * 8192)
    with pytest.raises(StorageFault, match="not a database"):
        open_store(f"sqlite:///{path}", New(toy_plan()))
    assert path.read_bytes() == b"x" * 8192


def test_a_damaged_page_is_a_storage_fault(tmp_path):
    path = tmp_path / "run.db"
    open_store(f"sqlite:///{path}", New(toy_plan())).close()
    contents = bytearray(path.read_bytes())
    contents[4096:] = b"\xff" * (len(contents) - 4096)
    path.write_bytes(contents)
    with pytest.raises(StorageFault, match="damaged"):
        open_store(f"sqlite:///{path}", Resume(toy_plan()))


def test_a_store_whose_plan_never_reached_the_disk_is_resumed_from_the_start(opener, database):
    database.touch()
    driver = opener(Resume(toy_plan()))
    driver.run_out()
    assert driver.store.progress().completed == driver.store.progress().planned


def test_another_back_end_is_refused_by_name():
    with pytest.raises(UsageError, match=r"unknown back end; valid: sqlite:///PATH"):
        open_store("postgresql://host/db", New(toy_plan()))


@pytest.mark.parametrize("jump", ["1990-01-01", "2026-01-01", "2099-01-01"])
def test_the_wall_clock_decides_nothing(opener, jump):
    with time_machine.travel("2026-06-01"):
        driver = opener(New(toy_plan()))
        lease = driver.claim()
    with time_machine.travel(jump):
        assert driver.pass_time(LEASE_S - 1) == 0
        driver.beat(lease)
        assert driver.pass_time(LEASE_S - 1) == 0
        driver.finish(lease)
        silent = driver.claim()
        assert driver.pass_time(LEASE_S) == 1
        assert silent.item != lease.item


# --- the writer --------------------------------------------------------------------------------------


def hold(driver: Driver) -> tuple[threading.Event, Future[None]]:
    """Keep the writer busy, so that what follows becomes one batch."""
    go = threading.Event()
    return go, driver.store._writer.submit(lambda tx: go.wait(10) and None)


def test_requests_that_wait_together_share_a_commit(opener):
    driver = opener(New(toy_plan()))
    commits = []
    go, held = hold(driver)
    event.listen(driver.store._writer._connection.engine, "commit", commits.append)
    claims = [driver.store.claim(ClaimRequest(worker=f"w{i}")) for i in range(20)]
    go.set()
    wait(held)
    assert sum(wait(claim).lease is not None for claim in claims) == 4
    assert len(commits) <= 2


def test_a_request_that_cannot_be_served_fails_alone(opener):
    driver = opener(New(toy_plan()))
    go, _held = hold(driver)

    def broken(_tx):
        raise ZeroDivisionError

    before = driver.store.claim(ClaimRequest(worker="w0"))
    failed = driver.store._writer.submit(broken)
    after = driver.store.claim(ClaimRequest(worker="w1"))
    go.set()
    assert wait(before).lease is not None
    with pytest.raises(ZeroDivisionError):
        wait(failed)
    assert wait(after).lease.item != wait(before).lease.item
    driver.finish(wait(before).lease)


def test_a_request_nobody_waits_for_is_not_served(opener):
    driver = opener(New(toy_plan()))
    go, _held = hold(driver)
    given_up = driver.store.claim(ClaimRequest(worker="w0"))
    assert given_up.cancel()
    go.set()
    assert {driver.claim("w1").item for _ in range(4)} == {0, 1, 2, 3}


def test_closing_serves_what_was_asked_before(opener):
    driver = opener(New(toy_plan()))
    go, _held = hold(driver)
    claim = driver.store.claim(ClaimRequest(worker="w0"))
    go.set()
    driver.store.close()
    assert claim.result(0).lease is not None


def test_commits_reach_the_disk(opener, database):
    driver = opener(New(toy_plan()))
    pragma = "PRAGMA synchronous"
    ask = driver.store._writer.submit(lambda tx: tx.connection.exec_driver_sql(pragma).scalar())
    assert wait(ask) == 2
    reader = sqlite3.connect(database)
    assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    reader.close()
