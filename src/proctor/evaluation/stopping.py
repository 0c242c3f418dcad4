"""How a worker is told to stop: SIGTERM, SIGINT, or the end of its standard input.

The first one is a request. The running episode may finish within `limits.FINISH_GRACE_S`, then it is
cancelled at its next step; a worker that is stuck in a call after `limits.RELEASE_GRACE_S` gives its lease
back and leaves all the same. The process dies of a second signal at once.

Whoever stops a worker closes its input and sends SIGTERM, in any order; together they are one request.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from proctor import limits


class StopRequest:
    """Whether this process was asked to stop, and what follows from it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked = threading.Event()
        self._signals = 0
        self._asked_at = 0.0
        self._stuck: Callable[[], None] = lambda: None

    @property
    def requested(self) -> bool:
        """No new episode is to be begun."""
        return self._asked.is_set()

    @property
    def overdue(self) -> bool:
        """The running episode has had its time."""
        return self._asked.is_set() and self._clock() - self._asked_at >= limits.FINISH_GRACE_S

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than until the request."""
        self._asked.wait(seconds)

    def ask(self) -> None:
        """Make the request, as a signal would."""
        if self._asked.is_set():
            return
        self._asked_at = self._clock()
        self._asked.set()
        timer = threading.Timer(limits.RELEASE_GRACE_S, self._stuck)
        timer.daemon = True
        timer.start()

    def listen(self, stuck: Callable[[], None], stdin: int = 0) -> None:
        """Listen to the signals and to the end of the file `stdin`. Main thread only.

        `stuck` is called, in a thread of its own, when the process is still here `limits.RELEASE_GRACE_S`
        after the request; it has to end it.
        """
        self._stuck = stuck
        signalled, self._signalling = os.pipe()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        threading.Thread(target=self._await, args=(stdin, signalled), name="stop", daemon=True).start()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > 1:
            # Die of the signal, so that nobody takes this for a crash.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        # Not `ask`: the thread this interrupts may hold the lock of the event that `ask` sets.
        os.write(self._signalling, b"\0")

    def _await(self, stdin: int, signalled: int) -> None:
        poll = select.poll()
        for descriptor in (stdin, signalled):
            poll.register(descriptor, select.POLLIN)
        while not any(fd == signalled or not os.read(fd, 1 << 12) for fd, _ in poll.poll()):
            pass
        self.ask()
