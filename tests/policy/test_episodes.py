"""Which episodes are open, and to whom they belong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proctor.errors import RequestRefusedError
from proctor.limits import LEASE_S
from proctor.policy.episodes import Episodes


class Connection:
    def has_left(self) -> bool:
        return False


MINE, THEIRS = Connection(), Connection()


@pytest.fixture
def episodes() -> Episodes:
    made = Episodes()
    made.begin("mine", MINE, 1.0)
    made.begin("theirs", THEIRS, 2.0)
    return made


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (lambda e: e.use("unknown", MINE, 3.0), "'unknown' is not open; reset comes first"),
        (lambda e: e.end("unknown", MINE), "'unknown' is not open"),
        (lambda e: e.use("theirs", MINE, 3.0), "'theirs' was begun by another connection"),
        (lambda e: e.end("theirs", MINE), "'theirs' was begun by another connection"),
        (lambda e: e.begin("theirs", MINE, 3.0), "'theirs' is in use by another connection"),
    ],
)
def test_a_request_for_an_episode_that_is_not_ones_own_is_refused(
    episodes: Episodes, request_: Callable[[Episodes], None], message: str
) -> None:
    with pytest.raises(RequestRefusedError, match=message):
        request_(episodes)
    assert episodes.all() == ["mine", "theirs"]
    assert episodes.unused_since(2.5) == ["mine", "theirs"]


def test_a_failed_episode_accepts_only_its_end_or_another_reset(episodes: Episodes) -> None:
    episodes.fail("mine")
    with pytest.raises(RequestRefusedError, match="failed before; end it or reset it"):
        episodes.use("mine", MINE, 3.0)
    episodes.begin("mine", MINE, 4.0)
    episodes.use("mine", MINE, 5.0)
    episodes.fail("mine")
    episodes.end("mine", MINE)
    assert episodes.all() == ["theirs"]


def test_an_owner_that_stood_still_for_a_lease_loses_its_episode(episodes: Episodes) -> None:
    late = 2.0 + LEASE_S
    episodes.begin("theirs", MINE, late)
    episodes.use("theirs", MINE, late)
    with pytest.raises(RequestRefusedError, match="was begun by another connection"):
        episodes.use("theirs", THEIRS, late)


def test_a_failed_episode_is_open_but_not_active(episodes: Episodes) -> None:
    episodes.fail("mine")
    assert len(episodes) == 2
    assert episodes.active() == 1


def test_use_keeps_an_episode_from_being_forgotten(episodes: Episodes) -> None:
    episodes.use("mine", MINE, 10.0)
    assert episodes.unused_since(5.0) == ["theirs"]


def test_owners_are_known(episodes: Episodes) -> None:
    assert episodes.owner_of("mine") is MINE
    assert episodes.owner_of("unknown") is None
    assert episodes.owned_by(THEIRS) == ["theirs"]


def test_an_ended_id_may_be_used_again_by_anyone(episodes: Episodes) -> None:
    episodes.end("mine", MINE)
    episodes.begin("mine", THEIRS, 5.0)
    assert episodes.owned_by(THEIRS) == ["theirs", "mine"]
