"""The store against a model of it: any order of requests, honest or late, from any worker."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from proctor.coordinator.audit import audit
from proctor.coordinator.states import ItemState
from proctor.coordinator.store import New, Restart, Resume, open_store
from proctor.errors import LeaseLostError, RequestRefusedError
from proctor.evaluation.protocol import Lease
from proctor.evaluation.record import EVALUATED, Outcome
from proctor.limits import LEASE_S, MAX_ATTEMPTS
from proctor.testing.store_driver import Clock, Driver, toy_plan, toy_record

PLAN = toy_plan(("reach", "park"), episodes=3, window=2)
PLAN_TASKS = ["reach", "reach", "park", "park"]
"""Task of every item."""
WORKERS = st.sampled_from(["w0", "w1", "w2"])


@dataclass
class Attempt:
    lease: Lease
    worker: str
    deadline: float
    open: bool = True
    done: bool = False


class StoreMachine(RuleBasedStateMachine):
    attempts = Bundle("attempts")

    @initialize()
    def create(self) -> None:
        self.directory = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.driver = self.opened(New(PLAN))
        self.held: list[Attempt] = []
        self.accepted: dict[str, tuple[Outcome, int]] = {}
        self.charged: dict[int, int] = {}
        self.cancelled = False

    def opened(self, start) -> Driver:
        url = f"sqlite:///{self.directory / 'run.db'}"
        store = open_store(url, start, journal=self.directory / "episodes.jsonl", clock=self.clock)
        return Driver(store, self.clock)

    # --- the model ---------------------------------------------------------------------------------

    def missing(self, lease: Lease) -> list[str]:
        return [episode.id for episode in lease.episodes if episode.id not in self.accepted]

    def end(self, attempt: Attempt, charge: int) -> None:
        attempt.open = False
        self.charged[attempt.lease.item] = self.charged.get(attempt.lease.item, 0) + charge

    def expected(self, item: int) -> ItemState:
        ids = {episode.id for episode in PLAN.episodes if self.item_of(episode.id) == item}
        if any(attempt.open and attempt.lease.item == item for attempt in self.held):
            return ItemState.LEASED
        if ids <= set(self.accepted):
            return ItemState.DONE
        return ItemState.QUARANTINED if self.charged.get(item, 0) >= MAX_ATTEMPTS else ItemState.PENDING

    @staticmethod
    def item_of(episode_id: str) -> int:
        task, index, _ = episode_id.split("/")
        return 2 * ["reach", "park"].index(task) + int(index) // 2

    # --- requests ----------------------------------------------------------------------------------

    @rule(target=attempts, worker=WORKERS, task=st.sampled_from([None, "reach", "park"]))
    def claim(self, worker, task) -> Attempt | None:
        free = {item for item in range(4) if self.expected(item) is ItemState.PENDING}
        lease = self.driver.try_claim(worker, task)
        if self.cancelled or not free:
            assert lease is None
            return None
        assert lease is not None
        assert lease.item in free
        if task is not None and any(PLAN_TASKS[item] == task for item in free):
            assert PLAN_TASKS[lease.item] == task
        planned = {e.id for e in PLAN.episodes if self.item_of(e.id) == lease.item}
        assert {e.id for e in lease.episodes} == planned - set(self.accepted)
        attempt = Attempt(lease, worker, self.clock.now + LEASE_S)
        self.held.append(attempt)
        return attempt

    @rule(
        attempt=attempts,
        pick=st.integers(0, 1),
        outcome=st.sampled_from(sorted(Outcome)),
        steps=st.integers(1, 2),
    )
    def report(self, attempt, pick, outcome, steps) -> None:
        if attempt is None:
            return
        episode = attempt.lease.episodes[pick % len(attempt.lease.episodes)]
        record = toy_record(episode, outcome, steps=steps, worker=attempt.worker)
        known = self.accepted.get(episode.id)
        if not attempt.open:
            with pytest.raises(LeaseLostError):
                self.driver.report(attempt.lease, record, attempt.worker)
        elif outcome not in EVALUATED:
            self.driver.report(attempt.lease, record, attempt.worker)
        elif known is None:
            assert self.driver.report(attempt.lease, record, attempt.worker)
            self.accepted[episode.id] = (outcome, steps)
        elif known == (outcome, steps):
            assert not self.driver.report(attempt.lease, record, attempt.worker)
        else:
            with pytest.raises(RequestRefusedError):
                self.driver.report(attempt.lease, record, attempt.worker)

    @rule(attempt=attempts, how=st.sampled_from(["complete", "release", "fail"]))
    def finish(self, attempt, how) -> None:
        if attempt is None:
            return
        request = getattr(self.driver, how)
        if attempt.open:
            assert request(attempt.lease, attempt.worker)
            left = bool(self.missing(attempt.lease))
            self.end(attempt, {"complete": int(left), "release": 0, "fail": 1}[how])
            attempt.done = how == "complete" and not left
        elif how == "complete" and attempt.done:
            assert not request(attempt.lease, attempt.worker)
        else:
            with pytest.raises(LeaseLostError):
                request(attempt.lease, attempt.worker)

    @rule(attempt=attempts, thief=WORKERS)
    def steal(self, attempt, thief) -> None:
        if attempt is None or thief == attempt.worker:
            return
        with pytest.raises(LeaseLostError):
            self.driver.complete(attempt.lease, thief)

    @rule(attempt=attempts)
    def beat(self, attempt) -> None:
        if attempt is None:
            return
        if attempt.open:
            assert self.driver.beat(attempt.lease, attempt.worker).cancel == self.cancelled
            attempt.deadline = self.clock.now + LEASE_S
        else:
            with pytest.raises(LeaseLostError):
                self.driver.beat(attempt.lease, attempt.worker)

    @rule(worker=WORKERS)
    def lose(self, worker) -> None:
        held = [attempt for attempt in self.held if attempt.open and attempt.worker == worker]
        assert self.driver.lost(worker) == bool(held)
        for attempt in held:
            self.end(attempt, 1)

    @rule(seconds=st.sampled_from([1.0, 6.0, LEASE_S, 2 * LEASE_S]))
    def wait(self, seconds) -> None:
        now = self.clock.now + seconds
        due = [attempt for attempt in self.held if attempt.open and attempt.deadline <= now]
        assert self.driver.pass_time(seconds) == len(due)
        for attempt in due:
            self.end(attempt, 1)

    @rule()
    def cancel(self) -> None:
        assert self.driver.cancel() != self.cancelled
        self.cancelled = True

    # --- coordinators ------------------------------------------------------------------------------

    @rule()
    def restart(self) -> None:
        self.driver.store.close()
        self.driver = self.opened(Restart("r"))
        for attempt in self.held:
            attempt.deadline = self.clock.now + LEASE_S

    @rule()
    def resume(self) -> None:
        self.driver.store.close()
        self.driver = self.opened(Resume(PLAN))
        for attempt in self.held:
            attempt.open = False
        self.charged.clear()
        self.cancelled = False

    # --- promises ----------------------------------------------------------------------------------

    @invariant()
    def progress_is_the_models(self) -> None:
        progress = self.driver.store.progress()
        states = [self.expected(item) for item in range(4)]
        assert progress.items == {state: states.count(state) for state in ItemState}
        outcomes = [outcome for outcome, _ in self.accepted.values()]
        assert progress.accepted == {outcome: outcomes.count(outcome) for outcome in EVALUATED}
        assert progress.planned == 6

    def teardown(self) -> None:
        self.driver.store.close()
        assert audit(self.directory / "run.db") == ()
        lines = (self.directory / "episodes.jsonl").read_text().splitlines()
        assert len(lines) == len(self.accepted)
        shutil.rmtree(self.directory)


def test_any_history_keeps_every_promise():
    run_state_machine_as_test(
        StoreMachine,
        settings=settings(
            max_examples=20,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
