"""What has to be observed so that a policy can see its own past, and how that past is put together.

A policy asks for history by declaring, per feature, offsets in control steps, for example (-4, 0). Such a
feature arrives with a leading axis, one entry per offset. Before the first observation there is no past: the
first one is repeated. Nothing is observed that no inference can ask for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from proctor.evaluation.execution import ExecutionRule
from proctor.policy import FeatureValue

NOW = (0,)


class ObservationHistory:
    """The recent past of one policy episode, for one set of features."""

    def __init__(
        self, features: Collection[str], offsets: Mapping[str, tuple[int, ...]], rule: ExecutionRule
    ) -> None:
        self._rule = rule
        self._offsets = {name: tuple(offsets.get(name, NOW)) for name in features}
        self._past = {name: steps for name, steps in self._offsets.items() if steps != NOW}
        self._at_inference = frozenset(name for name, steps in self._offsets.items() if 0 in steps)
        self._start = 0
        self._first: dict[str, FeatureValue] = {}
        self._seen: dict[str, dict[int, FeatureValue]] = {}

    def start(self, step: int, observation: Mapping[str, FeatureValue]) -> None:
        """Forget everything; `observation` is the first of a policy episode and pads its past."""
        self._start = step
        self._first = {name: observation[name] for name in self._offsets}
        self._seen = {name: {} for name in self._offsets}

    def needed(self, step: int, next_inference: int, end: int) -> frozenset[str]:
        """Features that the inference at `next_inference`, or a later one before `end`, reads at `step`."""
        now = self._at_inference if step == next_inference < end else frozenset()
        if not self._past:
            return now
        return now | {
            name
            for name, offsets in self._past.items()
            if any(self._can_ask(step - offset, next_inference, end) for offset in offsets)
        }

    def _can_ask(self, inference: int, next_inference: int, end: int) -> bool:
        return next_inference <= inference < end and self._rule.may_ask_after(inference - next_inference)

    def add(self, step: int, observation: Mapping[str, FeatureValue]) -> None:
        """Keep what was observed at `step`; forget what no offset reaches back to."""
        for name, offsets in self._offsets.items():
            if name in observation:
                kept = {at: value for at, value in self._seen[name].items() if at >= step + offsets[0]}
                self._seen[name] = {**kept, step: observation[name]}

    def at(self, step: int) -> dict[str, FeatureValue]:
        """What the policy sees at an inference at `step`."""
        return {name: self._feature(name, step) for name in self._offsets}

    def _feature(self, name: str, step: int) -> FeatureValue:
        values = [self._value(name, step + offset) for offset in self._offsets[name]]
        return np.stack(values) if name in self._past else values[0]

    def _value(self, name: str, step: int) -> FeatureValue:
        return self._first[name] if step <= self._start else self._seen[name][step]
