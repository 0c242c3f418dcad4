"""The three meanings of success, all followed at once; the benchmark declares which one is the headline.

`once`     the goal held after some control step, or at the start.
`at_end`   the goal held after the last control step of the segment.
`held`     the goal held after `held_steps` control steps in a row.
"""

from __future__ import annotations

from proctor.benchmarks.definition import BenchmarkDefinition


class Goal:
    """One segment's goal, followed step by step. Steps are those of the whole episode."""

    def __init__(self, definition: BenchmarkDefinition, *, start: int, success: bool) -> None:
        self._definition = definition
        self._in_a_row = 0
        self.once = success
        self.at_end = success
        self.held = False
        self.first_step: int | None = start if success else None

    def update(self, step: int, success: bool) -> None:
        """Take in the state after control step number `step`, counted from 1."""
        self.at_end = success
        self._in_a_row = self._in_a_row + 1 if success else 0
        self.held = self.held or self._in_a_row >= self._definition.held_steps
        if success and not self.once:
            self.once, self.first_step = True, step

    @property
    def reached(self) -> bool:
        """Whether the segment, if it ended now, is a success by the declared meaning."""
        return {"once": self.once, "at_end": self.at_end, "held": self.held}[self._definition.success]

    @property
    def settled(self) -> bool:
        """Whether nothing more can be learnt: the benchmark stops here. Never for `at_end`."""
        stops = self._definition.stop_on_success and self._definition.success != "at_end"
        return stops and self.reached
