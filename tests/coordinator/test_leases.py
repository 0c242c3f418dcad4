import pytest

from proctor.coordinator.leases import LeaseBook
from proctor.coordinator.transaction import Holder
from proctor.testing.store_driver import Clock

A, B = Holder(0, 1, "a", "w0"), Holder(1, 1, "b", "w1")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book(clock: Clock) -> LeaseBook:
    return LeaseBook(15.0, clock)


def due_after(book: LeaseBook, clock: Clock, seconds: float) -> list[Holder]:
    """What runs out while an owner looks every second."""
    due: list[Holder] = []
    for _ in range(round(seconds)):
        clock.now += 1.0
        due += book.take_due()
    return due


def test_a_lease_runs_out_once(book, clock):
    book.grant([A])
    assert due_after(book, clock, 14) == []
    assert due_after(book, clock, 1) == [A]
    assert due_after(book, clock, 60) == []


def test_renewing_starts_it_again(book, clock):
    book.grant([A, B])
    due_after(book, clock, 10)
    assert book.renew(A)
    assert due_after(book, clock, 6) == [B]
    assert due_after(book, clock, 9) == [A]


def test_a_lease_may_be_as_long_as_several_until_the_next_renewal(book, clock):
    book.grant([A, B])
    assert book.renew(A, 8)
    assert book.renew(B, 8)
    assert due_after(book, clock, 100) == []
    assert book.renew(B)
    assert due_after(book, clock, 15) == [B]
    assert due_after(book, clock, 5) == [A]


def test_what_has_run_out_cannot_be_renewed(book, clock):
    book.grant([A])
    assert due_after(book, clock, 15) == [A]
    assert not book.renew(A)


def test_an_ended_lease_is_neither_due_nor_renewable(book, clock):
    book.grant([A])
    book.end([A, B])
    assert not book.renew(A)
    assert due_after(book, clock, 30) == []


def test_a_holder_is_known_by_all_of_its_parts(book):
    book.grant([A])
    for other in (
        A._replace(item=5),
        A._replace(epoch=2),
        A._replace(worker="x"),
        A._replace(token_sha256="x"),
    ):
        assert not book.renew(other)


def test_a_pause_of_the_owner_moves_every_deadline(book, clock):
    book.grant([A])
    due_after(book, clock, 10)
    clock.now += 3600.0
    assert book.take_due() == []
    assert due_after(book, clock, 4) == []
    assert due_after(book, clock, 1) == [A]


def test_a_slow_look_is_no_pause(book, clock):
    book.grant([A])
    for _ in range(3):
        clock.now += 5.0
        due = book.take_due()
    assert due == [A]


def test_what_could_not_be_recorded_is_due_again(book, clock):
    book.grant([A])
    assert due_after(book, clock, 15) == [A]
    book.put_back([A])
    assert book.take_due() == [A]
