"""Files that follow the store, one JSON line per thing that happened, for people and their tools.

    episodes.jsonl   accepted episodes, in the order of acceptance
    errors.jsonl     what kept attempts and episodes from a result, in the order it happened

The store is the truth: lines are appended and flushed to the disk by a thread of their own, just after the
commit. What a crash kept from a file is added when the run is opened again, and a file that says anything
else than the store is rewritten; so it is when the run's results are made.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterable
from pathlib import Path

from proctor.durable import write_durably
from proctor.errors import StorageFault


class Journal:
    """Appends lines to one file."""

    def __init__(self, path: Path, lines: Iterable[str]) -> None:
        """Open `path`, made equal to the lines so far first. Raises StorageFault."""
        self.fault: OSError | None = None
        """Why the last lines could not be written. They are kept and tried again with the next ones."""
        self._path = path
        try:
            mend(path, lines)
        except OSError as error:
            raise StorageFault(f"{path}: cannot be written ({error.strerror})") from error
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._follow, name="journal", daemon=True)
        self._thread.start()

    def append(self, lines: Iterable[str]) -> None:
        """Add lines (JSON without line breaks). Returns at once."""
        for line in lines:
            self._lines.put(line)

    def close(self) -> None:
        """Write what is queued, then stop. Idempotent."""
        if self._thread.is_alive():
            self._lines.put(None)
            self._thread.join()

    def _follow(self) -> None:
        backlog: list[str] = []
        last = False
        while not last:
            last = self._collect(backlog)
            try:
                _append(self._path, _bytes(backlog))
            except OSError as fault:
                self.fault = fault
            else:
                self.fault = None
                backlog.clear()

    def _collect(self, backlog: list[str]) -> bool:
        line = self._lines.get()
        while line is not None:
            backlog.append(line)
            try:
                line = self._lines.get_nowait()
            except queue.Empty:
                return False
        return True


def mend(path: Path, lines: Iterable[str]) -> None:
    """Make the file hold exactly these lines. Raises OSError."""
    expected = _bytes(lines)
    found = path.read_bytes() if path.exists() else None
    if found is None or not expected.startswith(found):
        write_durably(path, expected)
    elif found != expected:
        _append(path, expected[len(found) :])


def _append(path: Path, data: bytes) -> None:
    """Append all of it or, as far as the file can still be cut, nothing."""
    with path.open("ab", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(before)
            raise


def _bytes(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
