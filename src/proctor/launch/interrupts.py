"""Ctrl-C during a run: once to finish cleanly, twice to stop now.

Before any episode runs there is nothing to finish, and an interrupt is a KeyboardInterrupt as anywhere else.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Final

BY_THE_USER: Final = "by the user"
"""Reason recorded with a run that was ended by an interrupt."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Takes SIGINT and SIGTERM while entered, if that is on the main thread; elsewhere none arrive.

    Until `hold` they raise KeyboardInterrupt. From then on they are counted, and whoever runs the loop looks;
    only a third one raises, for a user who has lost patience.
    """

    def __init__(self) -> None:
        self.count = 0
        self._held = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._interrupted) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def hold(self) -> None:
        """Count from now on."""
        self._held = True

    def hurry(self) -> bool:
        """Whether the user does not want to wait for an orderly end."""
        return self.count >= 2

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self._held or self.count > 2:
            raise KeyboardInterrupt
