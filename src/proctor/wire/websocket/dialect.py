"""A dialect spoken over WebSocket, from the worker's side."""

from __future__ import annotations

import time
from collections.abc import Mapping as Map
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from proctor.errors import DeadlineError, PolicyGoneError, UsageError
from proctor.limits import RETRY_FIRST_S, RETRY_LONGEST_S
from proctor.policy.context import SessionContext
from proctor.policy.spec import BenchmarkSpec
from proctor.wire.dialect import Access, Lack
from proctor.wire.endpoint import Endpoint
from proctor.wire.foreign import describe
from proctor.wire.mapper import Mapper
from proctor.wire.mapping import Mapping
from proctor.wire.presets import PRESETS
from proctor.wire.session import PolicySession, SessionDescription
from proctor.wire.websocket.client import WebSocketClient
from proctor.wire.websocket.exchange import Exchange, Metadata, read_metadata
from proctor.wire.websocket.session import WebSocketSession
from proctor.wire.websocket.sizes import reply_bytes


class MakeExchange(Protocol):
    """Agrees with one server on its terms."""

    def __call__(self, metadata: Metadata, mapper: Mapper, session: Map[str, Any], /) -> Exchange:
        """`session` is `SessionContext.metadata`, empty where it is not known.

        Raises `ProtocolError` for a first frame that is not the dialect's, `PolicyLoadError` where the server
        does not fit the benchmark, `UsageError` where the mapping does not give what it wants.
        """
        ...


@dataclass(frozen=True)
class WebSocketDialect:
    """Implements `proctor.wire.dialect.Dialect`."""

    name: str
    protocol: str
    """The protocol's own name and version."""
    cannot: tuple[Lack, ...]
    default_mapping: str | None
    exchange: MakeExchange
    chunk_owner: Literal["worker", "server"] = "worker"
    seeds: Literal["used", "unknown"] = "unknown"

    def prepare(
        self,
        endpoint: Endpoint,
        context: SessionContext,
        mapping: Mapping | None,
        access: Access,
        *,
        timeout_s: float,
    ) -> SessionDescription:
        """Wait for the server, and hold what it says first against the benchmark and the mapping."""
        mapper = self._mapper(mapping, context.benchmark)
        metadata = self._greeting(endpoint, access, context.benchmark, timeout_s)
        exchange = self.exchange(metadata, mapper, context.metadata)
        return self._describe(endpoint, context.benchmark, mapper, exchange)

    def open_session(
        self,
        endpoint: Endpoint,
        benchmark: BenchmarkSpec,
        mapping: Mapping | None,
        access: Access,
        *,
        act_timeout_s: float,
    ) -> PolicySession:
        """A conversation with a prepared server."""
        mapper = self._mapper(mapping, benchmark)
        connect = partial(_connect, endpoint, access, reply_bytes(benchmark))
        metadata = _first_frame(connect, endpoint, act_timeout_s)
        exchange = self.exchange(metadata, mapper, {})
        description = self._describe(endpoint, benchmark, mapper, exchange)
        return WebSocketSession(connect, exchange, benchmark, description, act_timeout_s)

    def _mapper(self, mapping: Mapping | None, benchmark: BenchmarkSpec) -> Mapper:
        if mapping is None and self.default_mapping is None:
            raise UsageError(f"{self.name} fixes no names of features: choose a --mapping")
        return Mapper(mapping or PRESETS[str(self.default_mapping)], benchmark)

    def _greeting(
        self, endpoint: Endpoint, access: Access, benchmark: BenchmarkSpec, timeout_s: float
    ) -> Metadata:
        """The first frame, as soon as there is a server; asked for again while nobody listens."""
        deadline = time.monotonic() + timeout_s
        pause = RETRY_FIRST_S
        connect = partial(_connect, endpoint, access, reply_bytes(benchmark))
        while True:
            try:
                return _first_frame(connect, endpoint, deadline - time.monotonic())
            except PolicyGoneError as error:
                if time.monotonic() + pause > deadline:
                    raise DeadlineError(f"no policy server within {timeout_s:g} s: {error}") from None
            time.sleep(pause)
            pause = min(2 * pause, RETRY_LONGEST_S)

    def _describe(
        self, endpoint: Endpoint, benchmark: BenchmarkSpec, mapper: Mapper, exchange: Exchange
    ) -> SessionDescription:
        details = dict(exchange.details)
        size = details.get("action_chunk_size")
        return describe(
            self.protocol,
            endpoint,
            benchmark,
            mapper,
            cannot=self.cannot,
            chunk_owner=self.chunk_owner,
            seeds=self.seeds,
            chunk_sizes=(size,) if isinstance(size, int) and size > 0 else (1,),
            details=details,
        )


def _connect(endpoint: Endpoint, access: Access, max_bytes: int, timeout_s: float) -> WebSocketClient:
    return WebSocketClient(endpoint, access, max_bytes=max_bytes, timeout_s=timeout_s)


def _first_frame(connect: partial[WebSocketClient], endpoint: Endpoint, timeout_s: float) -> Metadata:
    deadline = time.monotonic() + timeout_s
    connection = connect(timeout_s)
    try:
        return read_metadata(connection.receive(deadline - time.monotonic()), endpoint.text)
    finally:
        connection.close()
