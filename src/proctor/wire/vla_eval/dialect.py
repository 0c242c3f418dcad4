"""The dialect. Which names the server expects differs from model to model: the user's mapping says it."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final

from proctor.errors import DeadlineError, PolicyGoneError, UsageError
from proctor.limits import RETRY_FIRST_S, RETRY_LONGEST_S
from proctor.policy.context import SessionContext
from proctor.policy.spec import BenchmarkSpec
from proctor.wire.dialect import Access, Lack
from proctor.wire.endpoint import Endpoint
from proctor.wire.foreign import describe
from proctor.wire.mapper import Mapper
from proctor.wire.mapping import Mapping
from proctor.wire.session import SessionDescription
from proctor.wire.vla_eval.codec import PROTOCOL_VERSION
from proctor.wire.vla_eval.conversation import Conversation
from proctor.wire.vla_eval.session import Connect, VlaEvalSession
from proctor.wire.websocket.client import WebSocketClient
from proctor.wire.websocket.sizes import reply_bytes

PROTOCOL: Final = f"vla-eval/{PROTOCOL_VERSION}"


class VlaEvalDialect:
    """Implements `proctor.wire.dialect.Dialect`."""

    name = "vla-eval"
    cannot: tuple[Lack, ...] = ("load", "seed", "batch", "declared capabilities")
    default_mapping: str | None = None

    def prepare(
        self,
        endpoint: Endpoint,
        context: SessionContext,
        mapping: Mapping | None,
        access: Access,
        *,
        timeout_s: float,
    ) -> SessionDescription:
        """Wait for the server and exchange hellos. It loads its model before it listens."""
        benchmark = context.benchmark
        mapper = _mapper(mapping, benchmark)
        connect = _connector(endpoint, access, benchmark)
        details = _wait_for_hello(connect, benchmark, timeout_s)
        return self._describe(endpoint, benchmark, mapper, details)

    def open_session(
        self,
        endpoint: Endpoint,
        benchmark: BenchmarkSpec,
        mapping: Mapping | None,
        access: Access,
        *,
        act_timeout_s: float,
    ) -> VlaEvalSession:
        """A conversation with a prepared server."""
        mapper = _mapper(mapping, benchmark)
        connect = _connector(endpoint, access, benchmark)
        details = _hello(connect, benchmark, act_timeout_s)
        description = self._describe(endpoint, benchmark, mapper, details)
        return VlaEvalSession(connect, mapper, benchmark, description, act_timeout_s)

    def _describe(
        self, endpoint: Endpoint, benchmark: BenchmarkSpec, mapper: Mapper, details: dict[str, Any]
    ) -> SessionDescription:
        return describe(
            PROTOCOL,
            endpoint,
            benchmark,
            mapper,
            cannot=self.cannot,
            chunk_owner="server",
            details=details,
        )


DIALECT: Final = VlaEvalDialect()


def _mapper(mapping: Mapping | None, benchmark: BenchmarkSpec) -> Mapper:
    if mapping is None:
        raise UsageError("vla-eval fixes no names of features: choose a --mapping")
    return Mapper(mapping, benchmark)


def _connector(endpoint: Endpoint, access: Access, benchmark: BenchmarkSpec) -> Connect:
    return partial(_connect, endpoint, access, reply_bytes(benchmark))


def _connect(endpoint: Endpoint, access: Access, max_bytes: int, timeout_s: float) -> WebSocketClient:
    return WebSocketClient(endpoint, access, max_bytes=max_bytes, timeout_s=timeout_s)


def _hello(connect: Connect, benchmark: BenchmarkSpec, timeout_s: float) -> dict[str, Any]:
    deadline = time.monotonic() + timeout_s
    conversation = Conversation(connect(timeout_s), benchmark)
    try:
        return conversation.greet(deadline)
    finally:
        conversation.close()


def _wait_for_hello(connect: Connect, benchmark: BenchmarkSpec, timeout_s: float) -> dict[str, Any]:
    """The server's hello, as soon as there is a server; asked for again while nobody listens."""
    deadline = time.monotonic() + timeout_s
    pause = RETRY_FIRST_S
    while True:
        try:
            return _hello(connect, benchmark, deadline - time.monotonic())
        except PolicyGoneError as error:
            if time.monotonic() + pause > deadline:
                raise DeadlineError(f"no policy server within {timeout_s:g} s: {error}") from None
        time.sleep(pause)
        pause = min(2 * pause, RETRY_LONGEST_S)
