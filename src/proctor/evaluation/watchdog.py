"""Ends the process when one native call takes too long, even one that never lets go of the interpreter lock.

A Python thread cannot do that: it would need the lock. So the kernel does it. Before a native call an
interval timer is set; if the call outruns it, SIGALRM arrives, `faulthandler` writes the stacks of all
threads to standard error in C, and the signal's default action ends the process. Whoever started it sees a
death by SIGALRM (status -14 from `subprocess`, 142 in a shell), and nothing else in proctor dies of that
signal. What a simulator does with SIGALRM itself would be lost; no simulator in use touches it.
"""

from __future__ import annotations

import faulthandler
import signal
from typing import Final

from proctor.evaluation.record import Phase

WATCHDOG_SIGNAL: Final = signal.SIGALRM
"""What a worker dies of whose native call was wedged."""

STDERR: Final = 2


class Watchdog:
    """The process's only one: there is one timer and one signal."""

    def __init__(self, boot_s: float, step_s: float) -> None:
        """Seconds that native code may run: making a scene or a start, and anything else.

        The other phases have deadlines of their own.
        """
        self._limits: dict[Phase, float] = {
            "boot": boot_s,
            "begin": boot_s,
            "step": step_s,
            "teardown": step_s,
        }
        signal.signal(WATCHDOG_SIGNAL, signal.SIG_DFL)
        faulthandler.register(WATCHDOG_SIGNAL, file=STDERR, all_threads=True, chain=True)

    def watch(self, phase: Phase) -> None:
        """Start the time of `phase`; whatever was watched before has ended."""
        signal.setitimer(signal.ITIMER_REAL, self._limits.get(phase, 0.0))

    def rest(self) -> None:
        """Nothing native is running."""
        signal.setitimer(signal.ITIMER_REAL, 0.0)
