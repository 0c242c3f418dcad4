"""The policy client: the conversation with one policy server, one request at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from proctor.errors import (
    DeadlineError,
    InvalidActionError,
    PolicyFault,
    ProctorError,
    ProtocolError,
    RequestRefusedError,
)
from proctor.limits import HEALTH_TIMEOUT_S, LOAD_TIMEOUT_S
from proctor.policy.batching import Batching
from proctor.policy.capabilities import PolicyCapabilities
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext, SessionContext
from proctor.policy.host import Health
from proctor.policy.observation import Observation
from proctor.policy.spec import BenchmarkSpec
from proctor.wire.arrays import array_bytes, decode_array
from proctor.wire.local import messages as m
from proctor.wire.local.channel import Channel
from proctor.wire.local.observations import ObservationWriter
from proctor.wire.local.remote import PolicyRemoteError

_Value = TypeVar("_Value")
_Answer = TypeVar("_Answer", bound=m.Answer)

_RETRY_S = 0.05


class Loaded(msgspec.Struct, frozen=True):
    """What a server has loaded."""

    benchmark: BenchmarkSpec
    capabilities: PolicyCapabilities
    batching: Batching
    checkpoint_path: str


class PolicyClient:
    """Talks to the policy server at `socket_path`. One request in flight; not thread-safe.

    `timeout_s` bounds reset, act, act_batch and end_episode each. Connections are opened when they are first
    needed, and again after they broke: one for control, which never waits for the policy, one for episodes.
    The server ends the episodes of a connection that closes.

    Every method may raise `PolicyRemoteError` (the server's answer), `DeadlineError`, `PolicyGoneError`
    (nobody there, or not any more) or `ProtocolError`. After `DeadlineError` the next request works as soon
    as the policy is free; the late answer is dropped and counted in `late_replies`.
    """

    def __init__(self, socket_path: str | os.PathLike[str], timeout_s: float = 30) -> None:
        self.socket_path = os.fspath(socket_path)
        self.timeout_s = timeout_s
        self._control: Channel | None = None
        self._episodes: Channel | None = None
        self._late = 0
        self._writer = ObservationWriter(self._announce)

    def __enter__(self) -> PolicyClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def late_replies(self) -> int:
        """Answers that came after their deadline and were dropped."""
        return self._late + (self._episodes.late_replies if self._episodes else 0)

    @property
    def inline_arrays(self) -> bool:
        """Whether arrays travel in the socket, because this host has no sealed shared memory."""
        return self._writer.inline

    # --- control -----------------------------------------------------------------------------------

    def connect(self) -> None:
        """Open the connection for control, if it is not open."""
        if self._control is None:
            self._control = Channel(self.socket_path, "control", min(self.timeout_s, HEALTH_TIMEOUT_S))

    def wait_until_ready(self, timeout: float = 30) -> Health:
        """Ask for health every 50 ms until the server answers.

        Raises `DeadlineError` after `timeout` seconds, `ProtocolError` at once if something else answers.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                return self.health()
            except PolicyFault as error:
                if time.monotonic() + _RETRY_S > deadline:
                    raise DeadlineError(f"no policy server within {timeout} s: {error}") from None
                time.sleep(_RETRY_S)

    def health(self) -> Health:
        """State of the policy and what it is doing, whether it is busy or not."""
        report = self._order("health", m.HealthRequest, m.HealthReport, HEALTH_TIMEOUT_S)
        return Health(report.state, report.operation, report.busy_s, report.episodes)

    def describe(self) -> Loaded | None:
        """What the server has loaded, None if nothing."""
        answer = self._order("describe", m.DescribeRequest, m.Description, HEALTH_TIMEOUT_S)
        if answer.benchmark is None or answer.capabilities is None:
            return None
        benchmark = _understood(BenchmarkSpec.from_dict, answer.benchmark)
        capabilities = _understood(PolicyCapabilities.from_dict, answer.capabilities)
        return Loaded(benchmark, capabilities, answer.batching, answer.checkpoint_path)

    def load(self, context: SessionContext, timeout_s: float = LOAD_TIMEOUT_S) -> PolicyCapabilities:
        """Load the policy, once in a server's life."""
        answer = self._order("load", lambda i: m.LoadRequest(i, context.to_dict()), m.Loaded, timeout_s)
        return _understood(PolicyCapabilities.from_dict, answer.capabilities)

    def unload(self, timeout_s: float = LOAD_TIMEOUT_S) -> None:
        """Unload the policy and end the server."""
        self._order("unload", m.UnloadRequest, m.Done, timeout_s)

    # --- episodes ----------------------------------------------------------------------------------

    def reset(self, context: EpisodeContext, timeout_s: float | None = None) -> None:
        """Begin an episode; returns once the policy's reset did."""
        request = m.ResetRequest(self._id(timeout_s), context.to_dict())
        self._ask("reset", request, m.Done, timeout_s=timeout_s)

    def act(self, observation: Observation) -> ActionChunk:
        """The actions that follow this observation. Raises `InvalidActionError` if they are no chunk."""
        queries, body = self._write((observation,))
        answer, content = self._ask("act", m.ActRequest(self._id(), queries[0]), m.Chunk, body)
        return self._chunk(answer.form, content)

    def act_batch(self, observations: Sequence[Observation]) -> tuple[ActionChunk, ...]:
        """One chunk per observation, in order, from one inference."""
        queries, body = self._write(observations)
        answer, content = self._ask("act_batch", m.ActBatchRequest(self._id(), queries), m.Chunks, body)
        chunks, start = [], 0
        for form in answer.forms:
            end = start + self._checked(array_bytes, form.dtype, form.shape)
            chunks.append(self._chunk(form, content[start:end]))
            start = end
        if len(chunks) != len(observations):
            self._drop_episodes()
            raise ProtocolError(f"{len(chunks)} chunks for {len(observations)} observations")
        return tuple(chunks)

    def end_episode(self, episode_id: str, outcome: str = "", timeout_s: float | None = None) -> None:
        """End an episode; `outcome` is for the server's log."""
        self._ask("end_episode", m.EndRequest(self._id(), episode_id, outcome), m.Done, timeout_s=timeout_s)

    def close(self) -> None:
        """Leave; the policy stays loaded. Idempotent."""
        self._drop_episodes()
        if self._control is not None:
            self._control.close()
            self._control = None

    # --- underneath --------------------------------------------------------------------------------

    def _order(
        self, operation: str, request: Callable[[int], Any], expected: type[_Answer], timeout_s: float
    ) -> _Answer:
        self.connect()
        assert self._control is not None
        channel = self._control
        message = request(channel.next_id())
        try:
            channel.send(message, timeout_s)
            answer, _ = channel.answer(message.id, timeout_s)
        except ProctorError:
            channel.close()
            self._control = None
            raise
        return _expect(operation, answer, expected)

    def _ask(
        self,
        operation: str,
        request: m.ActRequest | m.ActBatchRequest | m.ResetRequest | m.EndRequest,
        expected: type[_Answer],
        body: bytes = b"",
        timeout_s: float | None = None,
    ) -> tuple[_Answer, bytearray]:
        channel = self._channel()
        limit = self.timeout_s if timeout_s is None else timeout_s
        try:
            channel.send(request, limit, body=body)
        except ProctorError:
            self._drop_episodes()
            raise
        try:
            answer, content = channel.answer(request.id, limit)
        except DeadlineError:
            self._writer.abandon()
            raise
        except ProctorError:
            self._drop_episodes()
            raise
        return _expect(operation, answer, expected), content

    def _write(self, observations: Sequence[Observation]) -> tuple[tuple[m.Query, ...], bytes]:
        try:
            return self._writer.write(observations)
        except RequestRefusedError:
            raise
        except ProctorError:
            self._drop_episodes()
            raise

    def _id(self, timeout_s: float | None = None) -> int:
        return self._channel(timeout_s).next_id()

    def _channel(self, timeout_s: float | None = None) -> Channel:
        """Who greets shares an interpreter with the policy: this may take as long as what is asked next."""
        if self._episodes is None:
            limit = self.timeout_s if timeout_s is None else timeout_s
            self._episodes = Channel(self.socket_path, "episodes", limit)
        return self._episodes

    def _announce(self, message: m.Memory | m.Layout, fd: int | None) -> None:
        self._channel().send(message, self.timeout_s, fd=fd)

    def _drop_episodes(self) -> None:
        if self._episodes is not None:
            self._late += self._episodes.late_replies
            self._episodes.close()
            self._episodes = None
        self._writer = ObservationWriter(self._announce)

    def _chunk(self, form: m.ChunkForm, content: bytearray) -> ActionChunk:
        array = self._checked(decode_array, form.dtype, form.shape, content)
        try:
            return ActionChunk(array)
        except (TypeError, ValueError) as error:
            raise InvalidActionError(str(error)) from None

    def _checked(self, decode: Callable[..., _Value], *arguments: object) -> _Value:
        try:
            return decode(*arguments)
        except ProtocolError:
            self._drop_episodes()
            raise


def _expect(operation: str, answer: m.Answer, expected: type[_Answer]) -> _Answer:
    if isinstance(answer, expected):
        return answer
    if isinstance(answer, m.Failed):
        raise PolicyRemoteError(operation, answer)
    raise ProtocolError(f"{operation} was answered with {type(answer).__name__}")


def _understood(build: Callable[[dict[str, Any]], _Value], data: dict[str, Any]) -> _Value:
    try:
        return build(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolError(f"the server's answer is not understood: {error}") from error
