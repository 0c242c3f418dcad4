"""Fakes, which say that they are fakes, and settings to run them with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from proctor.benchmarks.contract import Episode, Reset, Segment, StepResult
from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.errors import PolicyRaisedError
from proctor.evaluation.protocol import RunSettings
from proctor.policy import ActionChunk, EpisodeContext, Observation, PolicyCapabilities
from proctor.testing.toy_versions import toy_definition
from proctor.wire.session import SessionDescription


class FakeSession:
    """A fake wire: calls functions of the test in its own thread, and writes down every call.

    `act` and `reset` are called as a policy's would be; what they raise comes out as the wire reports it, and
    an exception of proctor's own tree as itself.
    """

    def __init__(
        self,
        act: Callable[[Observation], Any],
        reset: Callable[[EpisodeContext], None] = lambda context: None,
        *,
        offsets: Mapping[str, tuple[int, ...]] | None = None,
        chunk_owner: Any = "worker",
    ) -> None:
        self._act, self._reset = act, reset
        self.late_replies = 0
        self.begun: list[EpisodeContext] = []
        self.seen: list[Observation] = []
        self.ended: list[tuple[str, str]] = []
        self.end_raises: Exception | None = None
        self.description = SessionDescription(
            dialect="fake/1",
            endpoint="fake:",
            capabilities=PolicyCapabilities(
                supported_benchmarks=("toy",), required_features=(), observation_offsets=dict(offsets or {})
            ),
            action_representation="toy.velocity-v1",
            action_representation_source="benchmark_default",
            chunk_owner=chunk_owner,
        )

    def begin(self, context: EpisodeContext) -> None:
        self.begun.append(context)
        self._call(self._reset, context)

    def act(self, observation: Observation) -> ActionChunk:
        self.seen.append(observation)
        return self._call(self._act, observation)

    def end(self, episode_id: str, outcome: str) -> None:
        self.ended.append((episode_id, outcome))
        if self.end_raises is not None:
            raise self.end_raises

    def close(self) -> None:
        pass

    @staticmethod
    def _call(hook: Callable[[Any], Any], argument: Any) -> Any:
        try:
            return hook(argument)
        except (TypeError, ValueError, RuntimeError) as error:
            raise PolicyRaisedError(f"{type(error).__name__}: {error}") from error


class FakeEnvironment:
    """A fake simulator: its goal holds after the steps the test says, and it writes down every call.

    `state.proprioception` holds the number of the control step it was observed after, four times.
    """

    def __init__(
        self,
        success: Collection[int] = (),
        *,
        terminates: int | None = None,
        start: Sequence[float] = (0.0, 0.0),
        events: Sequence[str] = (),
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        self._success, self._terminates, self._start = set(success), terminates, start
        self._events, self._metrics = tuple(events), dict(metrics or {})
        self.now = 0
        self.entered: list[tuple[int, int]] = []
        """Segments that were entered, and after which control step."""
        self.asked: list[tuple[int, frozenset[str]]] = []
        self.applied: list[np.ndarray] = []
        self.raises: dict[int, Exception] = {}

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        self.now = 0
        if 0 in self.raises:
            raise self.raises[0]
        return Reset(self._observe(observe), np.asarray(self._start, np.float64), 0 in self._success)

    def step(self, action: np.ndarray, observe: Collection[str] = ()) -> StepResult:
        self.now += 1
        self.applied.append(np.array(action))
        if self.now in self.raises:
            raise self.raises[self.now]
        return StepResult(
            terminated=self.now == self._terminates,
            success=self.now in self._success,
            observation=self._observe(observe),
            events=self._events,
            metrics=self._metrics,
        )

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, Any]:
        self.entered.append((number, self.now))
        return self._observe(observe)

    def hold_action(self, last: np.ndarray | None) -> np.ndarray:
        return np.zeros(2, np.float32)

    def close(self) -> None:
        pass

    def observed(self, feature: str) -> list[int]:
        """Control steps after which `feature` was asked for."""
        return [step for step, names in self.asked if feature in names]

    def _observe(self, names: Collection[str]) -> dict[str, Any]:
        self.asked.append((self.now, frozenset(names)))
        values = {
            "state.proprioception": np.full(4, self.now, np.float32),
            "images.primary": np.full((64, 64, 3), self.now, np.uint8),
            "images.mirror": np.full((64, 64, 3), 255 - self.now, np.uint8),
            "privileged.goal": np.zeros(2, np.float32),
        }
        return {name: values[name] for name in names}


def still(length: int = 1) -> Callable[[Observation], ActionChunk]:
    """Actions of zero."""
    return lambda observation: ActionChunk(np.zeros((length, 2), np.float32))


def episode(*horizons: int, **changes: Any) -> Episode:
    """One episode with a segment for every horizon."""
    values: dict[str, Any] = {
        "id": "reach/3/1",
        "task": "reach",
        "index": 3,
        "repetition": 1,
        "seed": 7,
        "segments": tuple(Segment(f"part {number}", horizon) for number, horizon in enumerate(horizons)),
    }
    return Episode(**{**values, **changes})


def settings(definition: BenchmarkDefinition | None = None, **changes: Any) -> RunSettings:
    """Settings of a run of `definition`, the toy benchmark by default."""
    benchmark = definition or toy_definition()
    values: dict[str, Any] = {
        "run": "test",
        "benchmark": benchmark,
        "benchmark_hash": "0" * 64,
        "run_seed": 0,
        "execute_steps": benchmark.execute_steps,
        "action_representation": benchmark.actions[0].representation,
        "policy_endpoints": (),
        "observe": ("state.proprioception", "language.instruction"),
        "record": "none",
        "record_features": (),
        "act_timeout_s": 5.0,
        "run_directory": "",
    }
    return RunSettings(**{**values, **changes})


@pytest.fixture
def fakes() -> Any:
    """The names above, for tests to reach without importing this file."""

    class Fakes:
        Session, Environment = FakeSession, FakeEnvironment
        still, episode, settings = staticmethod(still), staticmethod(episode), staticmethod(settings)

    return Fakes
