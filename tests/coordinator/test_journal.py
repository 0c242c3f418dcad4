import errno
import os
import threading
from pathlib import Path

import pytest

from proctor.coordinator import journal as journal_module
from proctor.coordinator.journal import Journal
from proctor.coordinator.store import New, Restart
from proctor.testing.store_driver import toy_plan


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "episodes.jsonl"


@pytest.mark.parametrize(
    "found",
    [None, "", "1\n", "1\n2", "1\n2\n", "1\n2\n3\n", "x\n", "1\nx\n"],
    ids=["absent", "empty", "lagging", "torn", "equal", "ahead", "foreign", "changed"],
)
def test_opening_makes_the_file_equal_to_the_store(path, found):
    if found is not None:
        path.write_text(found)
    Journal(path, ["1", "2"]).close()
    assert path.read_text() == "1\n2\n"


def test_lines_follow_in_order(path):
    journal = Journal(path, ["0"])
    for number in range(1, 200):
        journal.append([str(number)])
    journal.close()
    assert path.read_text().splitlines() == [str(number) for number in range(200)]


def test_closing_twice_is_closing(path):
    journal = Journal(path, [])
    journal.close()
    journal.close()
    assert path.read_text() == ""


def test_lines_that_do_not_fit_are_kept_and_written_later(path, monkeypatch):
    full, tried = threading.Event(), threading.Event()
    full.set()
    flush = os.fsync

    def fsync(descriptor: int) -> None:
        if full.is_set():
            tried.set()
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(descriptor)

    journal = Journal(path, [])
    monkeypatch.setattr(journal_module.os, "fsync", fsync)
    journal.append(["1"])
    assert tried.wait(5)
    full.clear()
    journal.append(["2"])
    journal.close()
    assert path.read_text() == "1\n2\n"
    assert journal.fault is None


def test_a_failed_append_leaves_whole_lines_only(path, monkeypatch):
    journal = Journal(path, ["0"])

    def fsync(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal_module.os, "fsync", fsync)
    journal.append(["1"])
    journal.close()
    assert path.read_text() == "0\n"
    assert journal.fault is not None


def test_the_journal_of_a_run_holds_what_the_store_accepted(opener, tmp_path):
    driver = opener(New(toy_plan()))
    driver.run_out()
    driver.store.close()
    path = tmp_path / "episodes.jsonl"
    whole = path.read_bytes()
    assert len(whole.splitlines()) == 8
    path.write_bytes(whole[: len(whole) // 2])
    opener(Restart("r")).store.close()
    assert path.read_bytes() == whole
