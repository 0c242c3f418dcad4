"""Waiting that another thread can end."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator

import pytest

from proctor.policy.polling import Poller


@pytest.fixture
def poller() -> Iterator[Poller[socket.socket]]:
    made: Poller[socket.socket] = Poller()
    yield made
    made.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def test_what_can_be_read_is_returned(
    poller: Poller[socket.socket], pair: tuple[socket.socket, socket.socket]
) -> None:
    here, there = pair
    poller.watch(here, select.POLLIN)
    assert poller.wait(0.0) == []
    there.send(b"x")
    assert poller.wait(10.0) == [(here, select.POLLIN)]


def test_interest_can_change(
    poller: Poller[socket.socket], pair: tuple[socket.socket, socket.socket]
) -> None:
    here, there = pair
    there.send(b"x")
    poller.watch(here, select.POLLIN)
    poller.watch(here, select.POLLOUT)
    assert poller.wait(10.0) == [(here, select.POLLOUT)]


def test_what_is_forgotten_is_not_returned(
    poller: Poller[socket.socket], pair: tuple[socket.socket, socket.socket]
) -> None:
    here, there = pair
    there.send(b"x")
    poller.watch(here, select.POLLIN)
    assert poller.items == (here,)
    poller.forget(here)
    poller.forget(here)
    assert poller.items == ()
    assert poller.wait(0.0) == []


def test_another_thread_ends_the_wait(poller: Poller[socket.socket]) -> None:
    waker = threading.Thread(target=poller.wake)
    waker.start()
    assert poller.wait(30.0) == []
    waker.join()


def test_a_wake_before_the_wait_counts_once(poller: Poller[socket.socket]) -> None:
    for _ in range(100_000):
        poller.wake()
    assert poller.wait(30.0) == []
    assert poller.wait(0.0) == []


def test_waking_a_closed_poller_does_nothing() -> None:
    poller: Poller[socket.socket] = Poller()
    poller.close()
    poller.wake()
