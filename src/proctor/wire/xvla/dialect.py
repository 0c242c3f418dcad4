"""The dialect. Which domain and which state a checkpoint was trained with is the user's mapping to say."""

from __future__ import annotations

import contextlib
import time
from typing import Final

from proctor.errors import DeadlineError, PolicyGoneError, UsageError
from proctor.limits import RESET_TIMEOUT_S, RETRY_FIRST_S, RETRY_LONGEST_S
from proctor.policy.context import SessionContext
from proctor.policy.spec import BenchmarkSpec
from proctor.wire.dialect import Access, Lack
from proctor.wire.endpoint import Endpoint
from proctor.wire.foreign import describe
from proctor.wire.http.messages import Reply
from proctor.wire.mapper import Mapper
from proctor.wire.mapping import Mapping
from proctor.wire.session import SessionDescription
from proctor.wire.xvla.codec import check_mapping
from proctor.wire.xvla.session import ActClient, XvlaSession

PROTOCOL: Final = "xvla-act"

_PROBE: Final = b"{}"
"""A request without images, which servers refuse without an inference."""

_NOT_THERE: Final = (404, 405)


class XvlaDialect:
    """Implements `proctor.wire.dialect.Dialect`."""

    name = "xvla"
    cannot: tuple[Lack, ...] = ("load", "reset", "seed", "batch", "request ids", "declared capabilities")
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
        """Wait for the server, and find out that it is one: by a request that it has to refuse."""
        mapper = _mapper(mapping, context.benchmark)
        with contextlib.closing(ActClient(endpoint, access)) as client:
            reply = _probe(client, timeout_s)
            if reply.status in _NOT_THERE:
                raise UsageError(f"{client.where}: no server of X-VLA, it answers {reply.status}")
            fault = None if reply.status == 200 else client.fault(reply)
            if isinstance(fault, UsageError):
                raise fault
        return self._describe(endpoint, context.benchmark, mapper)

    def open_session(
        self,
        endpoint: Endpoint,
        benchmark: BenchmarkSpec,
        mapping: Mapping | None,
        access: Access,
        *,
        act_timeout_s: float,
    ) -> XvlaSession:
        """A conversation; raises `PolicyGoneError` while the server cannot be reached."""
        mapper = _mapper(mapping, benchmark)
        client = ActClient(endpoint, access)
        client.connect(RESET_TIMEOUT_S)
        description = self._describe(endpoint, benchmark, mapper)
        return XvlaSession(client, mapper, benchmark, description, act_timeout_s)

    def _describe(self, endpoint: Endpoint, benchmark: BenchmarkSpec, mapper: Mapper) -> SessionDescription:
        return describe(PROTOCOL, endpoint, benchmark, mapper, cannot=self.cannot)


DIALECT: Final = XvlaDialect()


def _mapper(mapping: Mapping | None, benchmark: BenchmarkSpec) -> Mapper:
    if mapping is None:
        raise UsageError("xvla fixes neither domain nor state: choose a --mapping")
    check_mapping(mapping)
    return Mapper(mapping, benchmark)


def _probe(client: ActClient, timeout_s: float) -> Reply:
    """The answer to the probe, as soon as there is a server."""
    deadline = time.monotonic() + timeout_s
    pause = RETRY_FIRST_S
    while True:
        try:
            return client.post(_PROBE, max(RETRY_FIRST_S, deadline - time.monotonic()))
        except PolicyGoneError as error:
            if time.monotonic() + pause > deadline:
                raise DeadlineError(f"no policy server within {timeout_s:g} s: {error}") from None
        time.sleep(pause)
        pause = min(2 * pause, RETRY_LONGEST_S)
