"""How a running episode is watched from outside: where it is, and whether it should stop."""

from __future__ import annotations

from typing import Protocol

from proctor.evaluation.record import Phase


class Monitor(Protocol):
    """Told of every phase before it starts; asked before every control step."""

    def enter(self, phase: Phase, step: int) -> None:
        """The episode is about to do `phase`, with `step` control steps behind it."""
        ...

    def cancelled(self) -> bool:
        """Whether the episode has to stop at this step."""
        ...


class Unwatched:
    """For whoever runs an episode directly: nobody looks, nobody stops it."""

    def enter(self, phase: Phase, step: int) -> None:
        """Nothing."""

    def cancelled(self) -> bool:
        """Never."""
        return False
