"""A coordinator that is killed at a named point, before and after each kind of commit.

The child is a fork that kills itself: what it did not answer may be lost, what it answered may not.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.coordinator import sqlite
from proctor.coordinator.audit import audit
from proctor.coordinator.export import export_run
from proctor.coordinator.store import New, Restart, open_store
from proctor.coordinator.writer import Writer
from proctor.evaluation.record import Outcome
from proctor.testing.store_driver import Clock, Driver, hello_of, toy_plan, toy_record, wait

POINTS = ["hello", "claim", "report", "complete", "release", "fail", "lost", "cancel", "refusal"]

pytestmark = pytest.mark.process


def die(*_arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Child:
    """A history of one request of every kind, in a process that dies at the chosen one."""

    def __init__(self, directory: Path, point: str, moment: str) -> None:
        self.point, self.armed = point, False
        self.answers = os.open(directory / "answers", os.O_WRONLY | os.O_CREAT)
        child = self

        class Dying(Writer):
            def commit(self) -> None:
                if child.armed and moment == "before":
                    die()
                super().commit()
                if child.armed and moment == "after":
                    die()

        sqlite.Writer = Dying
        self.driver = Driver(open_store(f"sqlite:///{directory}/run.db", New(toy_plan())), Clock())

    def at(self, point: str, request: Callable[[], object]) -> object:
        self.armed = point == self.point
        answer = request()
        os.write(self.answers, f"{point}\n".encode())
        return answer

    def live(self) -> None:
        driver = self.driver
        self.at("hello", lambda: wait(driver.store.hello(hello_of("w0"))))
        lease = self.at("claim", lambda: driver.claim(task="reach"))
        self.at("report", lambda: driver.report(lease, toy_record(lease.episodes[0])))
        driver.report(lease, toy_record(lease.episodes[1]))
        self.at("complete", lambda: driver.complete(lease))
        held = driver.claim("w1")
        self.at("release", lambda: driver.release(held, "w1"))
        failed = driver.claim("w1")
        self.at("fail", lambda: driver.fail(failed, "w1"))
        driver.claim("w1")
        self.at("lost", lambda: driver.lost("w1"))
        self.at("cancel", driver.cancel)
        self.at("refusal", lambda: driver.beat(failed, "w1"))


def in_a_fork(life: Callable[[], None]) -> None:
    """Run until it kills itself."""
    pid = os.fork()
    if pid == 0:
        try:
            life()
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the child did not die at the chosen point"


def killed_at(directory: Path, point: str, moment: str) -> list[str]:
    """Requests that were answered before the child killed itself."""
    in_a_fork(lambda: Child(directory, point, moment).live())
    return (directory / "answers").read_text().splitlines()


def reopened(directory: Path) -> Driver:
    clock = Clock()
    url = f"sqlite:///{directory / 'run.db'}"
    return Driver(open_store(url, Restart("r"), journal=directory / "journal", clock=clock), clock)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_commit_loses_nothing_that_was_answered(tmp_path, point, moment):
    answered = killed_at(tmp_path, point, moment)
    driver = reopened(tmp_path)
    assert audit(tmp_path / "run.db") == ()
    records = {record.episode_id for record in export_run(tmp_path / "run.db", "r").records}
    happened = [*answered, point] if moment == "after" else answered
    assert ("reach/0/0" in records) == ("report" in happened)
    assert ("reach/1/0" in records) >= ("complete" in happened)
    assert driver.drained() if "cancel" in happened else driver.try_claim() is not None
    assert len((tmp_path / "journal").read_text().splitlines()) == len(records)
    driver.store.close()


def test_a_run_goes_on_after_the_kill_as_if_nothing_had_happened(tmp_path):
    killed_at(tmp_path, "lost", "before")
    driver = reopened(tmp_path)
    driver.run_out()
    assert not driver.drained()
    driver.pass_time(60)
    driver.run_out()
    driver.store.close()
    outcomes = {r.episode_id: r.outcome for r in export_run(tmp_path / "run.db", "r").records}
    assert outcomes == {episode.id: Outcome.SUCCESS for episode in toy_plan().episodes}
    assert audit(tmp_path / "run.db") == ()


def test_a_kill_while_the_plan_is_written_leaves_no_half_run(tmp_path, monkeypatch):
    def half() -> None:
        monkeypatch.setattr(sqlite, "Writer", die)
        monkeypatch.setattr(
            sqlite, "take_over", lambda connection, start: (take_over(connection, start), die())
        )
        open_store(f"sqlite:///{tmp_path}/run.db", New(toy_plan()))

    take_over = sqlite.take_over
    in_a_fork(half)
    clock = Clock()
    driver = Driver(open_store(f"sqlite:///{tmp_path}/run.db", New(toy_plan()), clock=clock), clock)
    driver.run_out()
    driver.store.close()
    assert audit(tmp_path / "run.db") == ()
