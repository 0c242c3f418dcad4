"""Conformance of stores: what every back end of the coordinator must do, as a class to inherit.

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def url(self, tmp_path):
            return f"mystore:///{tmp_path}/run.db"

Time is the kit's: stores are opened with a clock that stands still until a test moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from proctor.coordinator.states import ItemState
from proctor.coordinator.store import New, RunStore, Start, open_store
from proctor.errors import LeaseLostError, RequestRefusedError
from proctor.evaluation.protocol import (
    EpisodeReport,
    FailRequest,
    HeartbeatRequest,
    ReleaseRequest,
)
from proctor.evaluation.record import Outcome
from proctor.limits import LEASE_S, MAX_ATTEMPTS, OPENING_LEASES
from proctor.testing.store_driver import (
    Clock,
    Driver,
    hello_of,
    ref_of,
    toy_error,
    toy_plan,
    toy_record,
    wait,
)
from proctor.testing.store_lifetimes import Opener, StoreLifetimes


class StoreConformance(StoreLifetimes):
    """Inherit, and give `url` a fixture that names a store that does not exist yet."""

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        """Where the store is."""
        pytest.fail("StoreConformance: override the fixture `url`")

    @pytest.fixture
    def clock(self) -> Clock:
        """Time of every store in a test."""
        return Clock()

    @pytest.fixture
    def opener(self, url: str, clock: Clock) -> Iterator[Opener]:
        """Opens the store at `url`; closes whatever was opened."""
        opened: list[RunStore] = []

        def open_(start: Start) -> Driver:
            opened.append(open_store(url, start, clock=clock))
            return Driver(opened[-1], clock)

        yield open_
        for store in opened:
            store.close()

    @pytest.fixture
    def driver(self, opener: Opener) -> Driver:
        """A new run of two tasks, four episodes each, two to an item."""
        return opener(New(toy_plan()))

    # --- claiming --------------------------------------------------------------------------------

    def test_every_item_is_handed_out_once(self, driver: Driver) -> None:
        """Four items, then nothing."""
        leases = [driver.claim(f"w{i}") for i in range(4)]
        assert {lease.item for lease in leases} == {0, 1, 2, 3}
        assert driver.try_claim("w9") is None

    def test_tokens_differ_and_are_long(self, driver: Driver) -> None:
        """256 bits in URL-safe text are 43 characters."""
        tokens = {driver.claim(f"w{i}").token for i in range(4)}
        assert len(tokens) == 4
        assert all(len(token) >= 43 for token in tokens)

    def test_claims_stay_with_the_workers_task(self, driver: Driver) -> None:
        """A worker keeps its scene while its task has items."""
        assert driver.claim("w0", "reach").episodes[0].task == "reach"
        assert driver.claim("w0", "reach").episodes[0].task == "reach"
        assert driver.claim("w0", "reach").episodes[0].task == "park"

    def test_a_free_worker_takes_the_task_with_most_items(self, driver: Driver) -> None:
        """Which shortens the tail."""
        driver.claim("w0", "park")
        assert driver.claim("w1").episodes[0].task == "reach"

    def test_a_free_worker_goes_where_nobody_is(self, opener: Opener) -> None:
        """Though another task has more items: its worker has made its simulator, and will get to them."""
        driver = opener(New(toy_plan(("reach", "park"), episodes=6)))
        for _ in range(2):
            driver.finish(driver.claim("w0", "park"))
        driver.claim("w1", "reach")
        assert driver.claim("w2").episodes[0].task == "park"

    def test_a_free_worker_helps_where_everybody_has_somebody(self, opener: Opener) -> None:
        """Nobody waits while there is work."""
        driver = opener(New(toy_plan(("reach", "park"), episodes=6)))
        driver.claim("w0", "park")
        driver.claim("w1", "reach")
        driver.claim("w1", "reach")
        assert driver.claim("w2").episodes[0].task == "park"

    def test_drained_only_when_everything_is_settled(self, driver: Driver) -> None:
        """An item in work may come back."""
        leases = [driver.claim(f"w{i}") for i in range(4)]
        for lease in leases[:3]:
            driver.finish(lease, f"w{leases.index(lease)}")
        assert not driver.drained()
        driver.finish(leases[3], "w3")
        assert driver.drained()

    # --- accepting -------------------------------------------------------------------------------

    def test_results_are_counted_by_outcome(self, driver: Driver) -> None:
        """And by task."""
        lease = driver.claim(task="reach")
        driver.report(lease, toy_record(lease.episodes[0], Outcome.SUCCESS))
        driver.report(lease, toy_record(lease.episodes[1], Outcome.POLICY_ERROR))
        progress = driver.store.progress()
        assert (progress.planned, progress.completed) == (8, 2)
        assert progress.accepted == {Outcome.SUCCESS: 1, Outcome.FAILURE: 0, Outcome.POLICY_ERROR: 1}
        assert [(t.task, t.success, t.completed, t.planned) for t in progress.tasks] == [
            ("park", 0, 0, 4),
            ("reach", 1, 2, 4),
        ]

    def test_the_same_result_again_changes_nothing(self, driver: Driver) -> None:
        """Times and places may differ: they are no part of the science."""
        lease = driver.claim()
        record = toy_record(lease.episodes[0])
        assert driver.report(lease, record)
        assert not driver.report(lease, replace(record, episode_s=9.0, finished_at="later"))
        assert driver.store.progress().completed == 1

    def test_another_result_for_the_same_episode_is_refused(self, driver: Driver) -> None:
        """The first one stays."""
        lease = driver.claim()
        driver.report(lease, toy_record(lease.episodes[0], Outcome.SUCCESS))
        with pytest.raises(RequestRefusedError, match="contradicts"):
            driver.report(lease, toy_record(lease.episodes[0], Outcome.FAILURE))
        assert driver.store.progress().accepted[Outcome.SUCCESS] == 1
        assert driver.store.progress().accepted[Outcome.FAILURE] == 0

    def test_an_episode_of_another_item_is_refused(self, driver: Driver) -> None:
        """A lease covers its own window only."""
        mine, other = driver.claim("w0"), driver.claim("w1")
        with pytest.raises(RequestRefusedError, match="episode_id"):
            driver.report(mine, toy_record(other.episodes[0]))

    @pytest.mark.parametrize("field", ["seed", "index", "repetition"])
    def test_a_result_of_another_trial_is_refused(self, driver: Driver, field: str) -> None:
        """The plan decides what an episode id stands for."""
        lease = driver.claim()
        record = replace(toy_record(lease.episodes[0]), **{field: 41})
        with pytest.raises(RequestRefusedError, match=field):
            driver.report(lease, record)
        assert driver.store.progress().completed == 0

    def test_an_error_is_no_result(self, driver: Driver) -> None:
        """It is counted once per attempt, and the episode is handed out again, last."""
        lease = driver.claim(task="reach")
        error = toy_record(lease.episodes[0], Outcome.BENCHMARK_ERROR)
        assert driver.report(lease, error)
        assert not driver.report(lease, error)
        assert driver.store.progress().errors[Outcome.BENCHMARK_ERROR] == 1
        driver.complete(lease)
        again = [driver.claim(task="reach"), driver.claim(task="reach")][-1]
        assert again.episodes == (lease.episodes[1], lease.episodes[0])

    # --- owning ----------------------------------------------------------------------------------

    @pytest.mark.parametrize("change", [{"token": "x" * 43}, {"epoch": 0}, {"item": 3}, {"worker": "w9"}])
    def test_only_the_exact_owner_is_heard(self, driver: Driver, change: dict[str, object]) -> None:
        """Token, epoch, item and worker must all be right."""
        lease = driver.claim()
        ref = replace(ref_of(lease), **change)
        record = toy_record(lease.episodes[0])
        requests: list[Callable[[], object]] = [
            lambda: wait(driver.store.report(EpisodeReport(attempt=ref, record=record))),
            lambda: wait(driver.store.complete(ref)),
            lambda: wait(driver.store.release(ReleaseRequest(attempt=ref, reason="test"))),
            lambda: wait(driver.store.fail(FailRequest(attempt=ref, error=toy_error()))),
            lambda: wait(
                driver.store.heartbeat(HeartbeatRequest(worker=ref.worker, attempt=ref, phase="step"))
            ),
        ]
        for request in requests:
            with pytest.raises(LeaseLostError):
                request()
        driver.finish(lease)

    @pytest.mark.parametrize("end", ["release", "fail"])
    def test_an_ended_attempt_stays_ended(self, driver: Driver, end: str) -> None:
        """Late writes are refused."""
        lease = driver.claim()
        assert getattr(driver, end)(lease)
        with pytest.raises(LeaseLostError, match="has ended"):
            driver.report(lease, toy_record(lease.episodes[0]))
        with pytest.raises(LeaseLostError, match="has ended"):
            driver.complete(lease)
        with pytest.raises(LeaseLostError, match="has ended"):
            driver.beat(lease)

    def test_completing_twice_is_answered_twice(self, driver: Driver) -> None:
        """The first answer may have been lost."""
        lease = driver.claim()
        driver.finish(lease)
        assert not driver.complete(lease)

    # --- charging --------------------------------------------------------------------------------

    def test_release_is_free(self, driver: Driver) -> None:
        """However often."""
        for _ in range(MAX_ATTEMPTS + 1):
            driver.release(driver.claim(task="reach"))
        progress = driver.store.progress()
        assert progress.failed_attempts == 0
        assert progress.items[ItemState.PENDING] == 4

    def test_completing_with_missing_episodes_is_a_failed_attempt(self, driver: Driver) -> None:
        """What was accepted stays; only the rest is handed out again."""
        lease = driver.claim(task="reach")
        driver.report(lease, toy_record(lease.episodes[0]))
        assert driver.complete(lease)
        assert driver.store.progress().failed_attempts == 1
        other, again = driver.claim(task="reach"), driver.claim(task="reach")
        assert (other.attempt, again.attempt) == (1, 2)
        assert again.episodes == lease.episodes[1:]

    def test_a_poison_item_is_quarantined_and_the_run_goes_on(self, opener: Opener) -> None:
        """After MAX_ATTEMPTS, and never as a failure."""
        driver = opener(New(toy_plan(("reach",), episodes=4)))
        bad = driver.claim()
        driver.fail(bad)
        for _ in range(MAX_ATTEMPTS - 1):
            lease = driver.claim()
            while lease.item != bad.item:
                driver.finish(lease)
                lease = driver.claim()
            driver.fail(lease)
        driver.run_out()
        progress = driver.store.progress()
        assert progress.state == "settled"
        assert progress.items[ItemState.QUARANTINED] == 1
        assert progress.accepted[Outcome.FAILURE] == 0
        assert driver.drained()

    def test_a_poison_episode_does_not_starve_its_window(self, opener: Opener) -> None:
        """Whatever killed a worker is tried last the next time."""
        driver = opener(New(toy_plan(("reach",), episodes=3, window=3)))
        poison = driver.claim().episodes[0]
        driver.lost()
        lease = driver.claim()
        assert lease.episodes[-1] == poison
        for episode in lease.episodes[:-1]:
            driver.report(lease, toy_record(episode))
        driver.lost()
        assert driver.claim().episodes == (poison,)

    # --- losing ----------------------------------------------------------------------------------

    def test_a_lost_workers_item_is_free_at_once(self, driver: Driver) -> None:
        """With a charge; a worker that held nothing costs nothing."""
        lease = driver.claim()
        assert driver.lost()
        assert not driver.lost()
        assert driver.store.progress().failed_attempts == 1
        with pytest.raises(LeaseLostError):
            driver.report(lease, toy_record(lease.episodes[0]))

    def test_a_loss_after_the_last_result_costs_no_result(self, driver: Driver) -> None:
        """An item with nothing missing is done, whoever died afterwards."""
        lease = driver.claim()
        for episode in lease.episodes:
            driver.report(lease, toy_record(episode))
        driver.lost()
        assert driver.store.progress().items[ItemState.DONE] == 1

    def test_a_native_crash_fails_the_window_where_the_benchmark_says_so(self, opener: Opener) -> None:
        """Finished episodes keep their results; the rest are failures of no steps."""
        driver = opener(New(toy_plan(("reach",), episodes=3, window=3, on_native_crash="fail_window")))
        lease = driver.claim()
        driver.report(lease, toy_record(lease.episodes[0]))
        driver.lost(native_crash=True)
        progress = driver.store.progress()
        assert progress.accepted == {Outcome.SUCCESS: 1, Outcome.FAILURE: 2, Outcome.POLICY_ERROR: 0}
        assert progress.state == "settled"

    def test_a_loss_that_was_no_native_crash_is_retried_there_too(self, opener: Opener) -> None:
        """Only the simulator's own crash is the benchmark's business."""
        driver = opener(New(toy_plan(("reach",), episodes=3, window=3, on_native_crash="fail_window")))
        lease = driver.claim()
        driver.lost()
        assert driver.claim().item == lease.item

    def test_a_worker_that_introduces_itself_again_lost_what_it_held(self, driver: Driver) -> None:
        """Its process is a new one."""
        lease = driver.claim()
        settings = wait(driver.store.hello(hello_of("w0")))
        assert settings == driver.store.settings
        with pytest.raises(LeaseLostError):
            driver.beat(lease)

    # --- leases ----------------------------------------------------------------------------------

    def test_a_silent_lease_expires(self, driver: Driver) -> None:
        """Its late completion is refused and the item is somebody else's."""
        lease = driver.claim(task="reach")
        assert driver.pass_time(LEASE_S - 1) == 0
        assert driver.pass_time(2) == 1
        assert driver.store.progress().failed_attempts == 1
        with pytest.raises(LeaseLostError, match="expired"):
            driver.complete(lease)

    def test_heartbeats_keep_a_lease(self, driver: Driver) -> None:
        """For ever."""
        lease = driver.claim()
        for _ in range(10):
            assert driver.beat(lease).lease_s == LEASE_S
            assert driver.pass_time(LEASE_S / 2) == 0
        driver.finish(lease)

    def test_a_worker_that_opens_a_lane_may_be_silent_for_longer(self, driver: Driver) -> None:
        """But not for ever; and how often it beats stays."""
        lease = driver.claim()
        assert driver.beat(lease, opening=True).lease_s == LEASE_S
        assert driver.pass_time(OPENING_LEASES * LEASE_S - 1) == 0
        assert driver.pass_time(2) == 1

    def test_the_next_heartbeat_ends_that(self, driver: Driver) -> None:
        """From then on a lease is as long as any."""
        lease = driver.claim()
        driver.beat(lease, opening=True)
        driver.beat(lease)
        assert driver.pass_time(LEASE_S + 1) == 1

    def test_an_owner_that_was_away_expires_nothing(self, driver: Driver) -> None:
        """It could not hear the heartbeats."""
        lease = driver.claim()
        driver.clock.now += 10 * LEASE_S
        assert wait(driver.store.expire()) == 0
        assert driver.pass_time(LEASE_S / 2) == 0
        driver.finish(lease)
