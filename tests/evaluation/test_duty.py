from __future__ import annotations

import threading
from typing import Any

import pytest

from proctor import limits
from proctor.errors import CoordinatorGone, LeaseLostError, RequestRefusedError
from proctor.evaluation.duty import Duty
from proctor.evaluation.heartbeat import Heart
from proctor.evaluation.policy_link import Absence
from proctor.evaluation.protocol import AttemptRef, HeartbeatReply, HeartbeatRequest, Waiting
from proctor.evaluation.stopping import StopRequest

FIRST = AttemptRef(worker="w", item=1, epoch=1, token="a")
SECOND = AttemptRef(worker="w", item=2, epoch=1, token="b")


class FakeWatchdog:
    """A fake: writes down what it is told to watch."""

    def __init__(self) -> None:
        self.watched: list[str] = []

    def watch(self, phase: str) -> None:
        self.watched.append(phase)

    def rest(self) -> None:
        self.watched.append("-")


class FakeCoordinator:
    """A fake: answers heartbeats as the test says."""

    def __init__(self, answer: Any = None, during: Any = None) -> None:
        self._answer, self._during = answer, during
        self.heard: list[HeartbeatRequest] = []

    def heartbeat(self, message: HeartbeatRequest) -> HeartbeatReply:
        self.heard.append(message)
        if self._during:
            self._during()
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer or HeartbeatReply(lease_s=15)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stop(clock: Clock) -> StopRequest:
    return StopRequest(clock)


@pytest.fixture
def duty(stop: StopRequest) -> Duty:
    return Duty("w", stop, FakeWatchdog())  # type: ignore[arg-type]


def beat(duty: Duty, coordinator: FakeCoordinator) -> FakeCoordinator:
    Heart(coordinator, duty).beat()  # type: ignore[arg-type]
    return coordinator


def test_a_heartbeat_says_what_the_worker_is_doing(duty: Duty) -> None:
    duty.take(FIRST)
    duty.begin_episode("reach/0/0")
    duty.enter("step", 7)
    (said,) = beat(duty, FakeCoordinator()).heard
    assert said == HeartbeatRequest(worker="w", attempt=FIRST, phase="step", episode_id="reach/0/0", step=7)


def test_between_items_it_is_idle(duty: Duty) -> None:
    duty.take(FIRST)
    duty.enter("step", 7)
    duty.drop()
    (said,) = beat(duty, FakeCoordinator()).heard
    assert said == HeartbeatRequest(worker="w", attempt=None, phase="idle")


def test_a_cancelled_run_stops_the_episode_and_the_item(duty: Duty) -> None:
    duty.take(FIRST)
    beat(duty, FakeCoordinator(HeartbeatReply(lease_s=15, cancel=True)))
    assert duty.cancelled()
    assert duty.leaving()


def test_a_lost_lease_stops_the_item_it_was_for(duty: Duty) -> None:
    duty.take(FIRST)
    beat(duty, FakeCoordinator(LeaseLostError("superseded")))
    assert duty.lost
    duty.drop()
    duty.take(SECOND)
    assert not duty.cancelled()


def test_a_refusal_that_comes_after_the_item_does_not_hit_the_next_one(duty: Duty) -> None:
    duty.take(FIRST)
    beat(duty, FakeCoordinator(LeaseLostError("superseded"), during=lambda: duty.take(SECOND)))
    assert not duty.lost


@pytest.mark.parametrize("error", [CoordinatorGone("silent"), RequestRefusedError("odd")])
def test_a_heartbeat_that_fails_is_left_to_the_next(duty: Duty, error: Exception) -> None:
    duty.take(FIRST)
    beat(duty, FakeCoordinator(error))
    assert not duty.cancelled()


def test_a_beat_on_its_way_is_waited_for(duty: Duty) -> None:
    beating, may_return = threading.Event(), threading.Event()

    def during() -> None:
        beating.set()
        may_return.wait(5)

    heart = Heart(FakeCoordinator(during=during), duty)  # type: ignore[arg-type]
    heart.lease(0.001)
    heart.start()
    assert beating.wait(5)
    heart.end()
    threading.Timer(0.01, may_return.set).start()
    heart.ended()
    assert may_return.is_set()
    assert not heart.is_alive()


def test_a_heart_that_never_beat_is_not_waited_for(duty: Duty) -> None:
    heart = Heart(FakeCoordinator(), duty)  # type: ignore[arg-type]
    heart.end()
    heart.ended()


def test_after_a_request_to_stop_the_episode_has_its_grace(
    duty: Duty, stop: StopRequest, clock: Clock
) -> None:
    stop.ask()
    assert (duty.leaving(), duty.cancelled()) == (True, False)
    clock.now = limits.FINISH_GRACE_S
    assert duty.cancelled()


def test_a_second_request_does_not_prolong_the_grace(stop: StopRequest, clock: Clock) -> None:
    stop.ask()
    clock.now = limits.FINISH_GRACE_S - 1
    stop.ask()
    clock.now = limits.FINISH_GRACE_S
    assert stop.overdue


def test_the_grace_ends_well_before_the_supervisors_patience() -> None:
    assert limits.FINISH_GRACE_S < limits.RELEASE_GRACE_S < limits.STOP_GRACE_S


def test_a_server_that_is_waited_for_is_told_until_the_next_phase(stop: StopRequest, clock: Clock) -> None:
    duty = Duty("w", stop, FakeWatchdog(), clock)  # type: ignore[arg-type]
    duty.miss(Absence("ws://gpu:8000", "refused", since=10.0, until=310.0))
    clock.now = 50.0
    waiting = Waiting(server="ws://gpu:8000", why="refused", silent_s=40.0, left_s=260.0)
    assert duty.beat().waiting == waiting
    duty.enter("begin")
    assert duty.beat().waiting is None


def test_a_lane_is_being_opened_up_to_its_first_start(duty: Duty) -> None:
    said = []
    for phase in ("teardown", "boot", "begin", "policy_reset", "begin"):
        duty.enter(phase)  # type: ignore[arg-type]
        said.append(duty.beat().opening)
    assert said == [False, True, True, False, False]


def test_a_lane_that_could_not_be_opened_is_not_being_opened(duty: Duty) -> None:
    duty.enter("boot")
    duty.drop()
    assert not duty.beat().opening


def test_what_is_said_last_is_heard_last(duty: Duty) -> None:
    beating, may_return, heard = threading.Event(), threading.Event(), []

    class SlowCoordinator:
        """A fake: a first message is on its way for a while."""

        def heartbeat(self, message: HeartbeatRequest) -> HeartbeatReply:
            if not beating.is_set():
                beating.set()
                may_return.wait(5)
            heard.append(message.opening)
            return HeartbeatReply(lease_s=15)

    heart = Heart(SlowCoordinator(), duty)  # type: ignore[arg-type]
    first = threading.Thread(target=heart.beat)
    first.start()
    assert beating.wait(5)
    duty.enter("boot")
    threading.Timer(0.01, may_return.set).start()
    heart.beat()
    first.join()
    assert heard == [False, True]


def test_phases_are_watched_and_the_watch_rests_between_items(stop: StopRequest) -> None:
    watchdog = FakeWatchdog()
    duty = Duty("w", stop, watchdog)  # type: ignore[arg-type]
    duty.enter("begin")
    duty.enter("step", 1)
    duty.drop()
    assert watchdog.watched == ["begin", "step", "-"]
