from __future__ import annotations

import pytest

from proctor.errors import InfrastructureFault
from proctor.launch.restarts import Restarts
from proctor.limits import RETRY_FIRST_S, RETRY_LONGEST_S


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def pause_of(restarts: Restarts, clock: Clock) -> float:
    """Seconds until the next restart is due."""
    started = clock.now
    while not restarts.due("it ended"):
        clock.now += 0.05
    return clock.now - started


def test_pauses_double_up_to_the_longest() -> None:
    clock = Clock()
    restarts = Restarts(8, clock)
    pauses = [pause_of(restarts, clock) for _ in range(8)]
    expected = [min(RETRY_FIRST_S * 2**n, RETRY_LONGEST_S) for n in range(8)]
    assert pauses == pytest.approx(expected, abs=0.051)


def test_asking_again_does_not_use_the_budget() -> None:
    clock = Clock()
    restarts = Restarts(1, clock)
    assert [restarts.due("it ended") for _ in range(5)] == [False] * 5
    clock.now += 1
    assert restarts.due("it ended")


def test_a_spent_budget_says_why() -> None:
    clock = Clock()
    restarts = Restarts(2, clock)
    for _ in range(2):
        pause_of(restarts, clock)
    with pytest.raises(InfrastructureFault, match="it ended\ngave up after 2 restarts"):
        restarts.due("it ended")


def test_renewed_it_starts_over() -> None:
    clock = Clock()
    restarts = Restarts(1, clock)
    pause_of(restarts, clock)
    restarts.renew()
    assert pause_of(restarts, clock) == pytest.approx(RETRY_FIRST_S, abs=0.051)
