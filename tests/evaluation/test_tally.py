from __future__ import annotations

from proctor import limits
from proctor.evaluation.tally import OTHER_EVENTS, Tally


def test_a_long_event_is_known_again_however_many_kinds_there_are() -> None:
    tally = Tally()
    for number in range(limits.MAX_EVENT_KINDS - 1):
        tally.add_event(f"event {number}")
    for _ in range(3):
        tally.add_event("x" * (limits.MAX_EVENT_TEXT + 1))
    tally.add_event("one kind too many")
    assert tally.events["x" * limits.MAX_EVENT_TEXT] == 3
    assert tally.events[OTHER_EVENTS] == 1
