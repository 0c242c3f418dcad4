"""Episodes that a server holds, by the ids it gave them.

An episode keeps its last step and what was answered to it, so that the same step gets the same answer; what
is left of its chunk; and when it was last asked for something. It ends with `finalize`, or once nothing was
asked for longer than its time to live: a client that died says nothing.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from proctor.errors import (
    DeadlineError,
    InvalidActionError,
    PolicyGoneError,
    PolicyRaisedError,
    ProctorError,
    RequestRefusedError,
)
from proctor.limits import MAX_SERVED_EPISODES
from proctor.policy.context import EpisodeContext
from proctor.policy.observation import Observation
from proctor.policy.seeds import SEED_MAX, noise_seed
from proctor.wire.episode_http import codec
from proctor.wire.episode_http.chunks import ChunkRule
from proctor.wire.episode_http.messages import InitRequest, StepReply
from proctor.wire.http.messages import Answer, refusal
from proctor.wire.mapper import Mapper
from proctor.wire.serving import ServedPolicy, Visitor

_log = logging.getLogger(__name__)


class Full(Exception):
    """No further episode can be held."""


class ServedEpisode:
    """One episode. `step` may come from any thread; repetitions wait for the first to be answered."""

    def __init__(self, context: EpisodeContext, visitor: Visitor, mapper: Mapper, rule: ChunkRule) -> None:
        self.id, self.last_used = context.episode_id, 0.0
        self._context, self._visitor, self._mapper, self._rule = context, visitor, mapper, rule
        self._turn = threading.Lock()
        self._next_step = self._inferences = 0
        self._rest: deque[NDArray[Any]] = deque()
        self._last: Answer | None = None
        self._failure: Answer | None = None
        self._over = False

    def begin(self) -> None:
        """Tell the policy. Raises as `Visitor.begin`; the policy is then told of the end, too."""
        try:
            self._visitor.begin(self._context)
        except ProctorError:
            self.end()
            raise

    def step(self, step: int, message: dict[str, Any]) -> Answer:
        """The next action, or what was answered when this step was asked for before."""
        with self._turn:
            if self._over:
                return unknown_episode(self.id)
            if self._last is not None and step == self._next_step - 1:
                return self._last
            if step != self._next_step:
                return self._out_of_order(step)
            if self._failure is None:
                return self._answer(step, message)
            return self._failure

    def end(self) -> None:
        """Tell the policy, and wait for a moment until it knows. Idempotent; never raises."""
        self._over = True
        with contextlib.suppress(RequestRefusedError):  # ended before
            try:
                self._visitor.end(self.id)
            except (DeadlineError, PolicyGoneError, PolicyRaisedError) as error:
                _log.warning("ending episode %s: %s", self.id, error)

    @property
    def busy(self) -> bool:
        """Whether a step is being answered."""
        return self._turn.locked()

    def leave(self) -> None:
        """Tell the policy without waiting."""
        self._over = True
        self._visitor.leave()

    def _answer(self, step: int, message: dict[str, Any]) -> Answer:
        try:
            if not self._rest:
                self._rest.extend(self._infer(step, message))
            answer = _action(self._rest.popleft())
        except RequestRefusedError as error:
            return refusal(400, "bad_observation", str(error))
        except PolicyGoneError as error:
            return refusal(503, "policy_gone", str(error))
        except DeadlineError as error:
            self._failure = answer = refusal(504, "deadline", str(error))
        except InvalidActionError as error:
            self._failure = answer = refusal(500, "invalid_action", str(error))
        except PolicyRaisedError as error:
            self._failure = answer = refusal(500, "policy_raised", str(error))
        self._last, self._next_step = answer, step + 1
        return answer

    def _infer(self, step: int, message: dict[str, Any]) -> NDArray[Any]:
        context, index = self._context, self._inferences
        assert context.policy_seed is not None
        observation = Observation(
            episode_id=self.id,
            step=step,
            features=self._mapper.from_wire(message),
            timestamp_s=None if context.control_hz is None else step / context.control_hz,
            inference_index=index,
            seed=noise_seed(context.policy_seed, index),
        )
        chunk = self._visitor.act(observation)
        self._inferences += 1
        return self._rule.applied(chunk.actions)

    def _out_of_order(self, step: int) -> Answer:
        expected = f"step {self._next_step} comes next"
        if self._next_step:
            expected += f", or step {self._next_step - 1} again"
        return refusal(409, "step_out_of_order", f"step {step}: {expected}")


class Episodes:
    """Episodes by id, and whose policy they are for."""

    def __init__(
        self,
        served: ServedPolicy,
        rule: ChunkRule,
        *,
        ttl_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ttl_s = ttl_s
        self._served, self._rule, self._clock = served, rule, clock
        self._lock = threading.Lock()
        self._episodes: dict[str, ServedEpisode] = {}

    def __len__(self) -> int:
        return len(self._episodes)

    def begin(self, request: InitRequest) -> ServedEpisode:
        """Open an episode under a new id. Raises `Full`, or as `Visitor.begin`."""
        context = _context(request)
        episode = ServedEpisode(context, self._served.visitor(), self._served.mapper, self._rule)
        with self._lock:
            if len(self._episodes) >= MAX_SERVED_EPISODES:
                raise Full
            episode.last_used = self._clock()
            self._episodes[episode.id] = episode
        try:
            episode.begin()
        except BaseException:
            self._forget(episode.id)
            raise
        return episode

    def use(self, episode_id: str) -> ServedEpisode | None:
        """The episode of that id, its time to live renewed; None for one that is not held."""
        episode = self._episodes.get(episode_id)
        if episode is not None:
            episode.last_used = self._clock()
        return episode

    def end(self, episode_id: str) -> None:
        """End an episode, if it is held."""
        episode = self._forget(episode_id)
        if episode is not None:
            episode.end()

    def sweep(self) -> None:
        """End every episode of which nothing was asked within its time to live."""
        since = self._clock() - self.ttl_s
        for episode in list(self._episodes.values()):
            unused = episode.last_used < since and not episode.busy
            if unused and self._forget(episode.id) is not None:
                _log.info("episode %s: nothing was asked for %g s", episode.id, self.ttl_s)
                episode.leave()

    def leave(self) -> None:
        """End all of them, without waiting."""
        while self._episodes:
            self._episodes.popitem()[1].leave()

    def _forget(self, episode_id: str) -> ServedEpisode | None:
        with self._lock:
            return self._episodes.pop(episode_id, None)


def unknown_episode(episode_id: str) -> Answer:
    """The answer to a step of an episode that is not held: it ended, or the server was started anew."""
    return refusal(404, "unknown_episode", f"no episode {episode_id[:80]!r}; begin with /episode/init")


def _context(request: InitRequest) -> EpisodeContext:
    seed = request.seed % (SEED_MAX + 1) if request.policy_seed is None else request.policy_seed
    return EpisodeContext(
        episode_id=f"ep_{secrets.token_hex(16)}",
        task_id=request.task,
        metadata={
            "benchmark": request.benchmark,
            "embodiment": request.embodiment,
            "simulator_seed": request.seed,
        },
        policy_seed=seed,
        horizon=request.max_steps,
        control_hz=request.control_hz,
        instruction=request.instruction,
    )


def _action(action: NDArray[Any]) -> Answer:
    return Answer(200, codec.encode(StepReply(action.tolist())))
