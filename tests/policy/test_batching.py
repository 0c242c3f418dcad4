"""Who is answered together, and who waits for whom."""

from __future__ import annotations

import pytest

from proctor.limits import BATCH_WAIT_S
from proctor.policy import Observation, PolicyCapabilities
from proctor.policy.batching import Batch, batching_of
from proctor.policy.calls import Act, Answer, Call


class Connection:
    def has_left(self) -> bool:
        return False


def capabilities(size: int, *, invariant: bool) -> PolicyCapabilities:
    return PolicyCapabilities(("bench",), (), max_batch_size=size, batch_invariant=invariant)


def ignore(answer: Answer) -> None:
    """Nobody is waiting."""


def add(batch: Batch, episode_id: str, now: float = 0.0, owner: Connection | None = None) -> Call:
    observation = Observation(episode_id, 0, {})
    call = Call(Act(observation), owner or Connection(), ignore)
    batch.add(observation, call, now)
    return call


@pytest.mark.parametrize(
    ("size", "invariant", "accepted", "expected"),
    [
        (1, True, True, "none"),
        (8, False, False, "none"),
        (8, True, False, "invariant"),
        (8, True, True, "invariant"),
        (8, False, True, "accepted"),
    ],
)
def test_merging_needs_a_promise_or_the_users_word(
    size: int, invariant: bool, accepted: bool, expected: str
) -> None:
    assert batching_of(capabilities(size, invariant=invariant), accepted=accepted) == expected


def test_nobody_waits_once_all_who_may_come_are_there() -> None:
    batch = Batch(8)
    add(batch, "a")
    assert not batch.due(0.0, expected=2)
    add(batch, "b")
    assert batch.due(0.0, expected=2)


def test_nobody_waits_in_a_full_batch() -> None:
    batch = Batch(2)
    add(batch, "a")
    assert not batch.full()
    add(batch, "b")
    assert batch.full()
    assert batch.due(0.0, expected=9)


def test_the_first_waits_for_at_most_the_limit() -> None:
    batch = Batch(8)
    add(batch, "a", now=10.0)
    add(batch, "b", now=10.0 + BATCH_WAIT_S / 2)
    assert batch.remaining_s(10.0) == pytest.approx(BATCH_WAIT_S)
    assert not batch.due(10.0 + BATCH_WAIT_S / 2, expected=3)
    assert batch.due(10.0 + BATCH_WAIT_S, expected=3)
    assert batch.remaining_s(11.0) == 0.0


def test_the_wait_is_no_longer_than_an_inference() -> None:
    batch = Batch(8)
    for _ in range(40):
        batch.took(0.001)
    add(batch, "a", now=0.0)
    assert batch.remaining_s(0.0) == pytest.approx(0.001, rel=0.1)


def test_one_quick_inference_changes_little() -> None:
    batch = Batch(8)
    batch.took(0.020)
    batch.took(0.0)
    add(batch, "a", now=0.0)
    assert batch.remaining_s(0.0) == pytest.approx(BATCH_WAIT_S)


def test_take_gives_the_oldest_first_and_leaves_nothing() -> None:
    batch = Batch(8)
    calls = [add(batch, name) for name in "cab"]
    observations, taken = batch.take()
    assert [observation.episode_id for observation in observations] == ["c", "a", "b"]
    assert taken == calls
    assert len(batch) == 0


def test_it_knows_whom_it_holds() -> None:
    batch, owner = Batch(8), Connection()
    add(batch, "a", owner=owner)
    assert batch.holds("a")
    assert not batch.holds("b")
    assert batch.holds_any_of(owner)
    assert not batch.holds_any_of(Connection())


def test_who_left_is_not_answered() -> None:
    batch, left = Batch(8), Connection()
    add(batch, "a", owner=left)
    stays = add(batch, "b")
    batch.discard(left)
    assert batch.take()[1] == [stays]
