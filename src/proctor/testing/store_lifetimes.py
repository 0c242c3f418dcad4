"""What a store must do over its lifetimes: cancelled, resumed, restarted, superseded, asked by many at once.

The half of `proctor.testing.stores.StoreConformance` that is not about one item and its lease; it has the
fixtures.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from proctor.coordinator.states import ItemState
from proctor.coordinator.store import New, Restart, Resume, Start
from proctor.errors import RequestRefusedError, SupersededError, UnknownNameError, UsageError
from proctor.evaluation.protocol import EpisodeReport
from proctor.evaluation.record import Outcome
from proctor.limits import LEASE_S, MAX_ATTEMPTS
from proctor.testing.store_driver import Driver, ref_of, toy_plan, toy_record, wait

Opener = Callable[[Start], Driver]


class StoreLifetimes:
    """Inherited by `StoreConformance`."""

    # --- cancelling ------------------------------------------------------------------------------

    def test_cancel_stops_claims_and_tells_workers(self, driver: Driver) -> None:
        """Work in hand can still be reported and released."""
        lease = driver.claim()
        assert not driver.beat(lease).cancel
        assert driver.cancel()
        assert not driver.cancel()
        assert driver.drained()
        assert driver.beat(lease).cancel
        assert driver.report(lease, toy_record(lease.episodes[0]))
        assert driver.release(lease)

    # --- opening ---------------------------------------------------------------------------------

    def test_a_run_is_created_once(self, driver: Driver, opener: Opener) -> None:
        """Nothing is ever overwritten."""
        with pytest.raises(UsageError, match="exists"):
            opener(New(toy_plan()))

    def test_resume_hands_out_exactly_the_missing_episodes(self, driver: Driver, opener: Opener) -> None:
        """Across items that were done, begun, leased and untouched."""
        done = driver.claim("w0")
        driver.finish(done)
        begun = driver.claim("w1")
        driver.report(begun, toy_record(begun.episodes[0], worker="w1"), "w1")
        driver.store.close()
        resumed = opener(Resume(toy_plan()))
        left = {e.id for e in toy_plan().episodes} - {e.id for e in done.episodes} - {begun.episodes[0].id}
        handed: set[str] = set()
        while (lease := resumed.try_claim()) is not None:
            handed |= {episode.id for episode in lease.episodes}
            resumed.finish(lease)
        assert handed == left
        assert resumed.store.progress().completed == 8

    def test_resume_with_another_plan_is_refused_by_field(self, driver: Driver, opener: Opener) -> None:
        """The message names what differs, and nothing else."""
        driver.store.close()
        plan = toy_plan(episodes=3)
        changed = replace(plan, settings=replace(plan.settings, run_seed=8))
        with pytest.raises(UsageError, match="run_seed: 7 -> 8") as refusal:
            opener(Resume(changed))
        assert "episodes: 8 -> 6" in str(refusal.value)
        assert "policy" not in str(refusal.value)

    def test_resume_of_an_unknown_run_names_the_known_ones(self, driver: Driver, opener: Opener) -> None:
        """With the nearest first."""
        driver.store.close()
        with pytest.raises(UnknownNameError, match="did you mean 'r'"):
            opener(Resume(toy_plan(run="rr")))

    def test_resume_renews_budgets_and_reopens(self, opener: Opener) -> None:
        """A person has looked at it."""
        driver = opener(New(toy_plan(("reach",), episodes=1)))
        for _ in range(MAX_ATTEMPTS):
            driver.fail(driver.claim())
        driver.cancel()
        assert driver.drained()
        driver.store.close()
        resumed = opener(Resume(toy_plan(("reach",), episodes=1)))
        resumed.run_out()
        assert resumed.store.progress().completed == 1

    def test_restart_lets_workers_go_on(self, driver: Driver, opener: Opener) -> None:
        """Same token, same epoch in hand, a full lease."""
        lease = driver.claim()
        driver.pass_time(LEASE_S - 1)
        driver.store.close()
        restarted = opener(Restart("r"))
        assert restarted.store.epoch == lease.epoch + 1
        assert restarted.pass_time(LEASE_S - 1) == 0
        restarted.beat(lease)
        restarted.finish(lease)

    def test_restart_keeps_budgets_and_cancellation(self, opener: Opener) -> None:
        """Nobody has looked at it."""
        driver = opener(New(toy_plan(("reach",), episodes=1)))
        for _ in range(MAX_ATTEMPTS):
            driver.fail(driver.claim())
        driver.cancel()
        driver.store.close()
        restarted = opener(Restart("r"))
        progress = restarted.store.progress()
        assert progress.items[ItemState.QUARANTINED] == 1
        assert restarted.drained()
        assert restarted.beat(None).cancel

    def test_a_superseded_owner_can_write_nothing(self, driver: Driver, opener: Opener) -> None:
        """Even when it is still alive."""
        lease = driver.claim()
        successor = opener(Restart("r"))
        with pytest.raises(SupersededError):
            driver.report(lease, toy_record(lease.episodes[0]))
        with pytest.raises(SupersededError):
            driver.try_claim("w1")
        successor.finish(lease)

    # --- concurrency -----------------------------------------------------------------------------

    def test_a_hundred_equal_completions_count_once(self, driver: Driver) -> None:
        """All at the same time; everyone is answered."""
        lease = driver.claim()
        for episode in lease.episodes:
            driver.report(lease, toy_record(episode))
        answers = [driver.store.complete(ref_of(lease)) for _ in range(100)]
        assert sum(wait(answer).stored for answer in answers) == 1
        assert driver.store.progress().items[ItemState.DONE] == 1

    def test_a_hundred_equal_results_count_once(self, driver: Driver) -> None:
        """And one that differs among them is refused."""
        lease = driver.claim()
        report = EpisodeReport(attempt=ref_of(lease), record=toy_record(lease.episodes[0]))
        other = replace(report, record=toy_record(lease.episodes[0], Outcome.FAILURE))
        answers = [driver.store.report(report) for _ in range(50)]
        refused = driver.store.report(other)
        answers += [driver.store.report(report) for _ in range(50)]
        assert sum(wait(answer).stored for answer in answers) == 1
        with pytest.raises(RequestRefusedError):
            wait(refused)
