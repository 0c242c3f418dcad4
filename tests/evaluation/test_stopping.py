from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from proctor import limits
from proctor.evaluation.stopping import StopRequest


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A stand-in for standard input; what `listen` does to the signals is undone."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    reading, writing = os.pipe()
    yield reading, writing
    for thread in threading.enumerate():
        if thread.name == "stop":
            thread.join()
    os.close(reading)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_nothing_is_requested_until_it_is() -> None:
    stop = StopRequest()
    assert (stop.requested, stop.overdue) == (False, False)


def test_waiting_ends_with_the_request() -> None:
    stop = StopRequest()
    threading.Timer(0.01, stop.ask).start()
    stop.wait(30.0)
    assert stop.requested


def test_the_end_of_input_is_a_request_and_what_is_written_before_is_not(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    stop = StopRequest()
    stop.listen(lambda: None, reading)
    os.write(writing, b"chatter\n")
    assert not stop.requested
    os.close(writing)
    stop.wait(30.0)
    assert stop.requested


def test_a_signal_is_a_request_but_not_of_the_thread_it_interrupts(pipe: tuple[int, int]) -> None:
    askers = []

    class Noting(StopRequest):
        def ask(self) -> None:
            askers.append(threading.current_thread())
            super().ask()

    stop = Noting()
    stop.listen(lambda: None, pipe[0])
    signal.raise_signal(signal.SIGTERM)
    stop.wait(30.0)
    assert stop.requested
    assert askers != [threading.main_thread()]
    os.close(pipe[1])


def test_a_process_that_is_stuck_after_its_grace_is_told_to_leave(
    monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int]
) -> None:
    monkeypatch.setattr(limits, "RELEASE_GRACE_S", 0.01)
    stuck = threading.Event()
    stop = StopRequest()
    stop.listen(stuck.set, pipe[0])
    stop.ask()
    assert stuck.wait(30.0)
    os.close(pipe[1])
