"""Whose an episode is, with clients that keep a connection and clients that open one for each request."""

from __future__ import annotations

import pytest

from proctor.errors import RequestRefusedError
from proctor.limits import EPISODE_TTL_S, LEASE_S
from proctor.wire.evostudio.visits import Visits


class Guest:
    def __init__(self, requests: int = 5) -> None:
        self.requests = requests
        self.left = False

    def has_left(self) -> bool:
        return self.left


@pytest.fixture
def now() -> list[float]:
    return [100.0]


@pytest.fixture
def visits(now: list[float]) -> Visits:
    return Visits(lambda: now[0])


def test_an_episode_is_its_connections(visits: Visits) -> None:
    mine, other = Guest(), Guest()
    visits.begin("a", mine)
    visits.use("a", mine)
    with pytest.raises(RequestRefusedError, match="begun by another connection"):
        visits.use("a", other)


def test_an_unknown_episode_is_refused(visits: Visits) -> None:
    with pytest.raises(RequestRefusedError, match="'a' is not open; reset comes first"):
        visits.use("a", Guest())


def test_an_episode_passes_on_once_its_connection_has_closed(visits: Visits) -> None:
    first, second, third = Guest(1), Guest(1), Guest(1)
    visits.begin("a", first)
    first.left = True
    assert visits.abandoned_by(first) == []
    visits.use("a", second)
    with pytest.raises(RequestRefusedError):
        visits.use("a", third)


def test_the_episodes_of_a_workers_own_connection_end_with_it(visits: Visits) -> None:
    mine, other = Guest(), Guest()
    visits.begin("a", mine)
    visits.begin("b", mine)
    visits.begin("c", other)
    mine.left = True
    assert visits.abandoned_by(mine) == ["a", "b"]
    with pytest.raises(RequestRefusedError, match="not open"):
        visits.use("a", other)


def test_what_passed_on_does_not_end_with_its_first_connection(visits: Visits) -> None:
    first, second = Guest(), Guest()
    visits.begin("a", first)
    first.left = True
    visits.use("a", second)
    assert visits.abandoned_by(first) == []


def test_an_episode_in_use_is_not_begun_by_another_connection_for_a_lease(
    visits: Visits, now: list[float]
) -> None:
    still, eager = Guest(), Guest()
    visits.begin("a", still)
    with pytest.raises(RequestRefusedError, match="in use by another connection"):
        visits.begin("a", eager)
    now[0] += LEASE_S
    visits.begin("a", eager)
    with pytest.raises(RequestRefusedError):
        visits.use("a", still)


def test_a_connection_begins_its_own_episode_again(visits: Visits) -> None:
    mine = Guest()
    visits.begin("a", mine)
    visits.begin("a", mine)
    visits.end("a")
    with pytest.raises(RequestRefusedError, match="not open"):
        visits.use("a", mine)


def test_episodes_nobody_asks_about_are_forgotten(visits: Visits, now: list[float]) -> None:
    mine = Guest()
    visits.begin("a", mine)
    now[0] += EPISODE_TTL_S + 1
    visits.begin("b", mine)
    with pytest.raises(RequestRefusedError, match="'a' is not open"):
        visits.use("a", mine)
