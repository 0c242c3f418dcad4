"""The rollout's conversation with a model server: one connection, replaced once an answer failed to come."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from proctor.errors import (
    DeadlineError,
    InvalidActionError,
    PolicyGoneError,
    PolicyRaisedError,
    ProctorError,
    ProtocolError,
    RequestRefusedError,
)
from proctor.limits import END_TIMEOUT_S, RESET_TIMEOUT_S
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext
from proctor.policy.observation import Observation
from proctor.policy.spec import BenchmarkSpec
from proctor.policy.validation import validate_observation
from proctor.wire.mapper import Mapper
from proctor.wire.session import SessionDescription
from proctor.wire.vla_eval.codec import Frame, decode_payload
from proctor.wire.vla_eval.conversation import Conversation, fault_of
from proctor.wire.websocket.client import WebSocketClient

Connect = Callable[[float], WebSocketClient]
"""Opens a connection, within seconds."""


class VlaEvalSession:
    """Implements `proctor.wire.session.PolicySession`."""

    def __init__(
        self,
        connect: Connect,
        mapper: Mapper,
        benchmark: BenchmarkSpec,
        description: SessionDescription,
        act_timeout_s: float,
    ) -> None:
        self.description = description
        self._connect, self._mapper, self._benchmark = connect, mapper, benchmark
        self._act_timeout_s = act_timeout_s
        self._conversation: Conversation | None = None
        self._dropped = 0
        self._episode_id = ""
        self._began = 0.0
        self._steps = 0

    @property
    def late_replies(self) -> int:
        """Replies that were dropped: they answered nothing that was waited for."""
        return self._dropped + (self._conversation.dropped if self._conversation else 0)

    def begin(self, context: EpisodeContext) -> None:
        """Begin the episode, and wait until the server has. A connection that was lost is replaced."""
        self._episode_id, self._began, self._steps = context.episode_id, time.monotonic(), 0
        deadline = self._began + max(RESET_TIMEOUT_S, self._act_timeout_s)
        if self._conversation is not None:
            with contextlib.suppress(PolicyGoneError):
                self._start(self._conversation, context, deadline)
                return
        self._start(self._open(deadline), context, deadline)

    def act(self, observation: Observation) -> ActionChunk:
        """What the server wants applied next: one action, from servers that keep their chunk."""
        if self._conversation is None or observation.episode_id != self._episode_id:
            raise RequestRefusedError(f"episode {observation.episode_id!r} is not open; begin comes first")
        validate_observation(observation, self._benchmark, self.description.capabilities)
        payload = self._mapper.to_wire(observation.features)
        self._steps = observation.step + 1
        reply = self._ask(self._conversation, "observation", payload, self._act_timeout_s)
        if reply.type != "action":
            raise fault_of(reply)
        try:
            answer = decode_payload(reply.payload)
        except ProtocolError as error:
            raise InvalidActionError(str(error)) from None
        return self._mapper.chunk_of(answer)

    def end(self, episode_id: str, outcome: str) -> None:
        """Say that the episode is over, with its outcome, and wait until the server has taken it in."""
        if episode_id != self._episode_id:
            return
        self._episode_id = ""
        result = {
            "metrics": {"success": outcome == "success"},
            "steps": self._steps,
            "elapsed_sec": round(time.monotonic() - self._began, 3),
        }
        if self._conversation is not None:
            try:
                self._conversation.finish(result, time.monotonic() + END_TIMEOUT_S)
            except ProctorError:
                self._drop()

    def close(self) -> None:
        """Leave. Idempotent; the server ends an episode that is open."""
        conversation = self._forget()
        if conversation is not None:
            conversation.close()

    def _open(self, deadline: float) -> Conversation:
        connection = self._connect(deadline - time.monotonic())
        conversation = self._conversation = Conversation(connection, self._benchmark)
        try:
            introduction = conversation.greet(deadline)
        except BaseException:
            self._drop()
            raise
        if introduction != self.description.details:
            self._drop()
            raise PolicyGoneError(
                f"{self.description.endpoint}: another server answers than the one that was prepared: it is"
                f" {introduction['model_server']!r}"
            )
        return conversation

    def _start(self, conversation: Conversation, context: EpisodeContext, deadline: float) -> None:
        try:
            conversation.start(task_of(context), deadline)
        except PolicyRaisedError:
            raise  # the connection is as good as before
        except BaseException:
            self._drop()
            raise

    def _ask(self, conversation: Conversation, kind: str, payload: dict[str, Any], timeout_s: float) -> Frame:
        deadline = time.monotonic() + timeout_s
        try:
            return conversation.answer(deadline, conversation.send(kind, payload, deadline))
        except DeadlineError:
            self._drop()
            where = self.description.endpoint
            raise DeadlineError(f"{where}: no answer within {timeout_s:g} s") from None
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        conversation = self._forget()
        if conversation is not None:
            conversation.abort()

    def _forget(self) -> Conversation | None:
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            self._dropped += conversation.dropped
        return conversation


def task_of(context: EpisodeContext) -> dict[str, Any]:
    """What a server is told of an episode: scalars, as the protocol wants."""
    task = {
        "name": context.task_id,
        "episode_id": context.episode_id,
        "instruction": context.instruction,
        "policy_seed": context.policy_seed,
        "max_steps": context.horizon,
        "control_hz": context.control_hz,
        "segment": context.segment,
    }
    return {key: value for key, value in task.items() if value is not None}
