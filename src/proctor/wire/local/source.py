"""A connection that asks for actions, as the policy's own thread reads it."""

from __future__ import annotations

import select
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from proctor.errors import InvalidActionError, ProtocolError, RequestRefusedError
from proctor.policy.calls import Act, ActBatch, Answer, Call, EndEpisode, Failure, Request, Reset
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext
from proctor.policy.lifecycle import PolicyState
from proctor.policy.replica import failure
from proctor.wire.arrays import dtype_name
from proctor.wire.local.connection import Connection
from proctor.wire.local.messages import (
    ActBatchRequest,
    ActRequest,
    Chunk,
    ChunkForm,
    Chunks,
    Done,
    EndRequest,
    Failed,
    Layout,
    Memory,
    ResetRequest,
    ToServer,
)
from proctor.wire.local.observations import ObservationReader

_Value = TypeVar("_Value")


class EpisodesSource:
    """Implements `proctor.policy.calls.Source` over one connection."""

    def __init__(self, connection: Connection, state: Callable[[], PolicyState]) -> None:
        self._connection = connection
        self._state = state
        self._observations = ObservationReader()
        self.backlog = False

    def fileno(self) -> int:
        """The connection's descriptor."""
        return self._connection.fileno()

    def interest(self) -> int:
        """Nothing more is read from who does not read the answers."""
        return select.POLLOUT if self._connection.draining else select.POLLIN

    def flush(self) -> None:
        """Send more of the waiting answer."""
        self._connection.flush()

    def overdue(self) -> bool:
        """Whether an answer has waited for too long."""
        return self._connection.overdue()

    def has_left(self) -> bool:
        """Whether the client has closed its end."""
        return self._connection.has_left()

    def receive(self) -> Call | None:
        """The next request; announcements before it are taken in. Reads the socket at most once."""
        connection = self._connection
        if not connection.has_frame():
            connection.read()
        call = None
        while call is None and (received := connection.next_message()) is not None:
            call = self._take_in(*received)
        self.backlog = connection.has_frame()
        return call

    def close(self, error: Exception | None) -> None:
        """Close the connection and let go of its memory; a protocol error is named to the client."""
        self._observations = ObservationReader()
        if isinstance(error, ProtocolError):
            self._connection.close("unread" if self._connection.draining else "protocol", str(error))
        else:
            self._connection.close("leaving", "the policy is no longer served")

    def _take_in(self, message: ToServer, body: bytearray) -> Call | None:
        if isinstance(message, Layout):
            self._observations.add_layout(message)
            return None
        if isinstance(message, Memory):
            self._observations.set_memory(self._connection.take_descriptor(), message.size)
            return None
        if not isinstance(message, (ActRequest, ResetRequest, EndRequest, ActBatchRequest)):
            raise ProtocolError(f"{type(message).__name__} does not belong on a connection for episodes")
        reply = partial(self._reply, message.id)
        try:
            return Call(self._request(message, body), self, reply)
        except RequestRefusedError as error:
            reply(failure(error))
            return None

    def _request(
        self, message: ActRequest | ResetRequest | EndRequest | ActBatchRequest, body: bytearray
    ) -> Request:
        if isinstance(message, ActRequest):
            return Act(self._observations.read(message.query, body))
        if isinstance(message, ActBatchRequest):
            return ActBatch(self._observations.read_all(message.queries, body))
        if isinstance(message, ResetRequest):
            return Reset(from_dict(EpisodeContext.from_dict, message.context))
        return EndEpisode(message.episode_id)

    def _reply(self, request_id: int, answer: Answer) -> None:
        try:
            self._send(request_id, answer)
        except ProtocolError as error:
            too_much = failure(InvalidActionError(f"the actions cannot travel: {error}"))
            self._connection.send(failed(request_id, too_much, self._state()))

    def _send(self, request_id: int, answer: Answer) -> None:
        send = self._connection.send
        if isinstance(answer, ActionChunk):
            send(Chunk(request_id, _form(answer)), answer.actions.tobytes())
        elif isinstance(answer, Failure):
            send(failed(request_id, answer, self._state()))
        elif isinstance(answer, tuple):
            forms = tuple(_form(chunk) for chunk in answer)
            send(Chunks(request_id, forms), b"".join(chunk.actions.tobytes() for chunk in answer))
        else:
            send(Done(request_id))


def from_dict(build: Callable[[Any], _Value], data: dict[str, Any]) -> _Value:
    """A value type from its dict. Raises `RequestRefusedError` where it does not accept it."""
    try:
        return build(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestRefusedError(str(error)) from error


def failed(request_id: int, answer: Failure, state: PolicyState) -> Failed:
    """A failure as it travels."""
    return Failed(request_id, answer.code, answer.error_type, answer.message, answer.error_id, state)


def _form(chunk: ActionChunk) -> ChunkForm:
    return ChunkForm(dtype_name(chunk.actions), chunk.actions.shape)
