from __future__ import annotations

import signal
import threading

import pytest

from proctor.launch.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_before_anything_runs_an_interrupt_is_one(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), Interrupts():
        signal.raise_signal(number)


def test_held_they_are_counted() -> None:
    with Interrupts() as interrupts:
        interrupts.hold()
        signal.raise_signal(signal.SIGINT)
        assert (interrupts.count, interrupts.hurry()) == (1, False)
        signal.raise_signal(signal.SIGTERM)
        assert (interrupts.count, interrupts.hurry()) == (2, True)


def test_a_third_one_is_out_of_patience() -> None:
    with Interrupts() as interrupts:
        interrupts.hold()
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_handlers_are_given_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_off_the_main_thread_nothing_is_touched() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def enter() -> None:
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]
