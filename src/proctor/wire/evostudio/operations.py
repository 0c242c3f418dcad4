"""The seven operations: from the body of a request's frame to the frame of its reply. No sockets here.

A request that is wrong, an exception of the policy, an invalid action: each is answered with an error, and
concerns nobody but the one who asked. The policy stays ready.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

import msgspec

from proctor.errors import InvalidActionError, ProtocolError, RequestRefusedError, UnknownNameError
from proctor.limits import MAX_EVOSTUDIO_CONTEXT_BYTES
from proctor.policy.calls import (
    Act,
    ActBatch,
    Answer,
    Call,
    EndEpisode,
    Failure,
    Load,
    Request,
    Reset,
    Unload,
)
from proctor.policy.capabilities import PolicyCapabilities
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext, SessionContext
from proctor.policy.host import PolicyHost
from proctor.policy.observation import FeatureValue, Observation
from proctor.policy.replica import failure
from proctor.wire.evostudio import messages as m
from proctor.wire.evostudio.codec import (
    decode_array,
    decode_part,
    decode_request,
    encode_error,
    encode_result,
)
from proctor.wire.evostudio.visits import Guest, Visits

_Payload = TypeVar("_Payload")
_Value = TypeVar("_Value")
_Result = dict[str, Any]


class _Unfulfilled(Exception):
    """The policy's thread answered with a failure."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure


class Operations:
    """Answers requests to one policy, from any thread. Blocks while the policy works, except for health."""

    def __init__(self, host: PolicyHost) -> None:
        self._host = host
        self._visits = Visits()
        self._operations: dict[str, Callable[[msgspec.Raw, Guest], _Result]] = {
            "health": self._health,
            "load": self._load,
            "reset": self._reset,
            "act": self._act,
            "act_batch": self._act_batch,
            "end_episode": self._end_episode,
            "unload": self._unload,
        }

    def has_left(self) -> bool:
        """The owner of every episode, in the eyes of the policy's thread: `Visits` knows whose they are."""
        return False

    def answer(self, body: bytes | bytearray, guest: Guest) -> bytes:
        """The reply's frame. After `ProtocolError`, for bytes that are no request, the connection closes."""
        request = decode_request(body)
        guest.requests += 1
        try:
            return encode_result(request.request_id, self._fulfil(request, guest))
        except _Unfulfilled as error:
            return self._refusal(request, error.failure)
        except RequestRefusedError as error:
            return self._refusal(request, failure(error))
        except ProtocolError as error:
            too_large = InvalidActionError(f"the actions do not travel: {error}")
            return self._refusal(request, failure(too_large))

    def protocol_error(self, error: ProtocolError) -> bytes:
        """The frame that tells a client why its connection is being closed."""
        return encode_error("", self._error("protocol", Failure("refused", "ProtocolError", str(error), "")))

    def leave(self, guest: Guest) -> None:
        """A connection closed: end what ends with it, without waiting."""
        for episode_id in self._visits.abandoned_by(guest):
            self._host.submit(Call(EndEpisode(episode_id), self, lambda answer: None))

    def _fulfil(self, request: m.Request, guest: Guest) -> _Result:
        if request.version != m.VERSION:
            raise RequestRefusedError(f"this server speaks version {m.VERSION}, not {request.version!r}")
        operation = self._operations.get(request.operation)
        if operation is None:
            raise RequestRefusedError(str(UnknownNameError("operation", request.operation, m.OPERATIONS)))
        size = memoryview(request.payload).nbytes
        if request.operation not in m.WITH_ARRAYS and size > MAX_EVOSTUDIO_CONTEXT_BYTES:
            limit = MAX_EVOSTUDIO_CONTEXT_BYTES
            raise RequestRefusedError(f"payload of {size} bytes; {request.operation} takes at most {limit}")
        return operation(request.payload, guest)

    # --- operations --------------------------------------------------------------------------------

    def _health(self, payload: msgspec.Raw, guest: Guest) -> _Result:
        health = self._host.health()
        benchmark, capabilities = self._host.benchmark, self._host.capabilities
        return {
            "state": health.state,
            "operation": health.operation,
            "busy_s": health.busy_s,
            "episodes": health.episodes,
            "benchmark": None if benchmark is None else benchmark.to_dict(),
            "capabilities": None if capabilities is None else capabilities.to_dict(),
            "batching": self._host.batching,
            "checkpoint_path": self._host.checkpoint_path,
        }

    def _load(self, payload: msgspec.Raw, guest: Guest) -> _Result:
        context = _built(SessionContext.from_dict, _taken(payload, m.ContextPayload).context)
        capabilities = self._ask(Load(context))
        assert isinstance(capabilities, PolicyCapabilities)
        return {**self._state(), "capabilities": capabilities.to_dict()}

    def _reset(self, payload: msgspec.Raw, guest: Guest) -> _Result:
        context = _built(EpisodeContext.from_dict, _taken(payload, m.ContextPayload).context)
        self._visits.begin(context.episode_id, guest)
        self._ask(Reset(context))
        return self._state()

    def _act(self, payload: msgspec.Raw, guest: Guest) -> _Result:
        observation = _observation(_taken(payload, m.ActPayload).observation)
        self._visits.use(observation.episode_id, guest)
        chunk = self._ask(Act(observation))
        assert isinstance(chunk, ActionChunk)
        return {"action_chunk": chunk.to_dict()}

    def _act_batch(self, payload: msgspec.Raw, guest: Guest) -> _Result:
        observations = tuple(map(_observation, _taken(payload, m.BatchPayload).observations))
        for observation in observations:
            self._visits.use(observation.episode_id, guest)
        chunks = self._ask(ActBatch(observations))
        assert isinstance(chunks, tuple)
        return {"action_chunks": [chunk.to_dict() for chunk in chunks]}

    def _end_episode(self, payload: msgspec.Raw, guest: Guest) -> _Result:
        episode_id = _taken(payload, m.EndPayload).episode_id
        self._visits.use(episode_id, guest)
        self._visits.end(episode_id)
        self._ask(EndEpisode(episode_id))
        return self._state()

    def _unload(self, payload: msgspec.Raw, guest: Guest) -> _Result:
        self._ask(Unload())
        return self._state()

    # --- parts of them -----------------------------------------------------------------------------

    def _ask(self, request: Request) -> Answer:
        answers: SimpleQueue[Answer] = SimpleQueue()
        self._host.submit(Call(request, self, answers.put))
        answer = answers.get()
        if isinstance(answer, Failure):
            raise _Unfulfilled(answer)
        return answer

    def _state(self) -> _Result:
        return {"state": self._host.state}

    def _refusal(self, request: m.Request, failure: Failure) -> bytes:
        return encode_error(request.request_id, self._error(request.operation, failure))

    def _error(self, operation: str, failure: Failure) -> _Result:
        """The SDK's clients take a ProtocolError to mean that nothing changed: so does every refusal here."""
        refused = failure.error_type == RequestRefusedError.__name__
        where = f"see error {failure.error_id} in the policy server's log" if failure.error_id else ""
        return {
            "operation": operation,
            "type": ProtocolError.__name__ if refused else failure.error_type,
            "message": failure.message,
            "traceback": where,
            "state": self._host.state,
            "code": failure.code,
            "error_id": failure.error_id,
        }


def _taken(payload: msgspec.Raw, kind: type[_Payload]) -> _Payload:
    try:
        return decode_part(payload, kind)
    except ProtocolError as error:
        raise RequestRefusedError(f"payload: {error}") from None


def _built(build: Callable[[dict[str, Any]], _Value], data: dict[str, Any]) -> _Value:
    try:
        return build(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestRefusedError(str(error)) from error


def _observation(text: m.ObservationText) -> Observation:
    features: dict[str, FeatureValue] = {}
    for name, value in text.features.items():
        try:
            features[name] = value if isinstance(value, str) else decode_array(value)
        except ProtocolError as error:
            raise RequestRefusedError(f"feature {name!r}: {error}") from None
    try:
        return Observation(
            text.episode_id, text.step, features, text.timestamp_s, text.inference_index, text.seed
        )
    except (TypeError, ValueError) as error:
        raise RequestRefusedError(str(error)) from error
