"""A worker that starts itself anew: same process id, same input, fresh memory.

Simulators leak. Between two Work Items a worker that has grown too much replaces itself, with its
configuration handed over in a pipe: it never stands in an argument or in the environment.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Final

from proctor import limits

CONFIGURATION_FD: Final = "PROCTOR_CONFIGURATION_FD"
"""Environment variable: number of the file a recycled worker reads its configuration from."""


class Growth:
    """Watches this process's memory."""

    def __init__(self, limit: int = limits.WORKER_GROWTH_BYTES) -> None:
        self._limit = limit
        self._first: int | None = None

    def excessive(self) -> bool:
        """Whether memory has grown by more than the limit since this was first asked."""
        now = resident_bytes()
        if self._first is None:
            self._first = now
        return now - self._first > self._limit


def resident_bytes() -> int:
    """Bytes of memory that this process occupies."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def start_anew(configuration: bytes) -> None:
    """Replace this process by a fresh one of the same command. Does not return.

    `configuration`: one line, at most what a pipe holds (64 KiB).
    """
    reading, writing = os.pipe()
    os.write(writing, configuration)
    os.close(writing)
    os.set_inheritable(reading, True)
    signal.setitimer(signal.ITIMER_REAL, 0.0)  # timers outlive exec
    sys.stdout.flush()
    sys.stderr.flush()
    environment = {**os.environ, CONFIGURATION_FD: str(reading)}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606 - our own command


def inherited_configuration() -> bytes | None:
    """The line that `start_anew` left for this process; None in a process that was started as usual."""
    descriptor = os.environ.pop(CONFIGURATION_FD, None)
    if descriptor is None:
        return None
    with os.fdopen(int(descriptor), "rb") as file:
        return file.read()
