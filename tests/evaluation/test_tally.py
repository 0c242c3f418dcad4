from __future__ import annotations

import hashlib

import numpy as np

from proctor import limits
from proctor.actions.limits import CheckedAction
from proctor.benchmarks.contract import StepResult
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


def test_the_digest_of_the_actions_is_over_their_bytes_in_order() -> None:
    tally = Tally()
    actions = [np.array([0.1, 0.2], np.float32), np.array([-0.0, 3.0], np.float32)]
    for action in actions:
        tally.add_step(
            CheckedAction(action, 0, 0), StepResult(observation={}, success=False, terminated=False), 0.01
        )
    whole = b"".join(action.tobytes() for action in actions)
    assert tally.actions.hexdigest() == hashlib.sha256(whole).hexdigest()
