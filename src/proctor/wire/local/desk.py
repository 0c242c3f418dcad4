"""A connection as the server's input/output thread reads it: introductions, and what need not wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from proctor.errors import ProtocolError, RequestRefusedError
from proctor.limits import HANDSHAKE_TIMEOUT_S
from proctor.policy.calls import Answer, Call, Failure, Load, Unload
from proctor.policy.capabilities import PolicyCapabilities
from proctor.policy.context import SessionContext
from proctor.policy.host import PolicyHost
from proctor.policy.replica import failure
from proctor.wire.local.connection import Connection
from proctor.wire.local.messages import (
    PROTOCOL,
    DescribeRequest,
    Description,
    Done,
    Greeting,
    HealthReport,
    HealthRequest,
    Hello,
    Loaded,
    LoadRequest,
    Reason,
    Role,
    ToServer,
    UnloadRequest,
)
from proctor.wire.local.source import failed, from_dict

Deliver = Callable[["Desk", int, Answer], None]
"""Brings an answer from the policy's thread back to the thread that owns the desk."""


class Desk:
    """One connection from its greeting until it is closed or given to the policy's thread."""

    def __init__(self, connection: Connection, host: PolicyHost, version: str, deliver: Deliver) -> None:
        self._connection = connection
        self._host = host
        self._deliver = deliver
        self._since = time.monotonic()
        self.role: Role | None = None
        """What the client wants the connection for, None until it said so."""
        connection.send(Greeting(PROTOCOL, version, host.state))

    def fileno(self) -> int:
        """The connection's descriptor."""
        return self._connection.fileno()

    def has_left(self) -> bool:
        """Whether the client has closed its end."""
        return self._connection.has_left()

    def overdue(self) -> bool:
        """Whether the client is too slow to introduce itself or to read."""
        late = time.monotonic() - self._since > HANDSHAKE_TIMEOUT_S
        return (self.role is None and late) or self._connection.overdue()

    @property
    def draining(self) -> bool:
        """Whether an answer waits to be read."""
        return self._connection.draining

    def flush(self) -> None:
        """Send more of the waiting answer."""
        self._connection.flush()

    def serve(self) -> None:
        """Read once and answer what can be answered at once; stops after a request for episodes.

        Raises `EOFError` or `OSError` where the connection ended, `ProtocolError` where it must be closed.
        """
        self._connection.read()
        while self.role != "episodes" and (received := self._connection.next_message()) is not None:
            self._take_in(received[0])

    def release(self) -> Connection:
        """The connection, for the policy's thread; this desk is then done."""
        return self._connection

    def answer(self, request_id: int, answer: Answer) -> None:
        """Send what the policy's thread answered."""
        if isinstance(answer, Failure):
            self._connection.send(failed(request_id, answer, self._host.state))
        elif isinstance(answer, PolicyCapabilities):
            self._connection.send(Loaded(request_id, answer.to_dict()))
        else:
            self._connection.send(Done(request_id))

    def close(self, reason: Reason, message: str) -> None:
        """Close the connection, saying why."""
        self._connection.close(reason, message)

    def _take_in(self, message: ToServer) -> None:
        if isinstance(message, Hello):
            self._introduce(message)
        elif self.role is None:
            raise ProtocolError("the first message of a client must be hello")
        elif isinstance(message, HealthRequest):
            health = self._host.health()
            self._connection.send(
                HealthReport(message.id, health.state, health.operation, health.busy_s, health.episodes)
            )
        elif isinstance(message, DescribeRequest):
            self._describe(message.id)
        elif isinstance(message, LoadRequest):
            self._load(message)
        elif isinstance(message, UnloadRequest):
            self._host.submit(Call(Unload(), self, partial(self._deliver, self, message.id)))
        else:
            raise ProtocolError(f"{type(message).__name__} does not belong on a connection for control")

    def _introduce(self, hello: Hello) -> None:
        if self.role is not None:
            raise ProtocolError("a client says hello once")
        if hello.protocol != PROTOCOL:
            raise ProtocolError(f"this server speaks {PROTOCOL}, not {hello.protocol!r}")
        self.role = hello.role

    def _describe(self, request_id: int) -> None:
        benchmark, capabilities = self._host.benchmark, self._host.capabilities
        self._connection.send(
            Description(
                request_id,
                None if benchmark is None else benchmark.to_dict(),
                None if capabilities is None else capabilities.to_dict(),
                self._host.batching,
                self._host.checkpoint_path,
            )
        )

    def _load(self, message: LoadRequest) -> None:
        try:
            context = from_dict(SessionContext.from_dict, message.context)
        except RequestRefusedError as error:
            self.answer(message.id, failure(error))
            return
        self._host.submit(Call(Load(context), self, partial(self._deliver, self, message.id)))
