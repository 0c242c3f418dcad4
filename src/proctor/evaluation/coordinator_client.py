"""The worker's side of the coordinator's API: typed requests that are repeated until they are answered.

Every request may be repeated safely: the coordinator answers a second one like the first (a claim whose
answer got lost costs one lease's time). A coordinator that is silent is waited for as long as the worker's
patience lasts; one that says that it cannot store anything right now is there, and is waited for without end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

import httpx2
import msgspec

from proctor import limits
from proctor.errors import (
    CoordinatorGone,
    InfrastructureFault,
    LeaseLostError,
    ProtocolError,
    RequestRefusedError,
)
from proctor.evaluation.backoff import pauses
from proctor.evaluation.protocol import (
    Accepted,
    AttemptRef,
    ClaimReply,
    ClaimRequest,
    EpisodeReport,
    ErrorReply,
    FailRequest,
    HeartbeatReply,
    HeartbeatRequest,
    Message,
    ReleaseRequest,
    RunSettings,
    WorkerHello,
)

Reply = TypeVar("Reply", bound=Message)

_REQUEST_TIMEOUT_S: Final = 10.0

_log = logging.getLogger(__name__)


class CoordinatorClient:
    """Speaks to one coordinator. Heartbeats may come from another thread than the rest.

    Every method raises `LeaseLostError` when the attempt it names has been superseded, `CoordinatorGone` when
    the coordinator stays silent, `RequestRefusedError` when it refuses the request, `ProtocolError` when its
    answer is not one, and `InfrastructureFault` when it does not take the token.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience_s: float = limits.COORDINATOR_PATIENCE_S,
        give_up: Callable[[], bool] = lambda: False,
        sleep: Callable[[float], object] = time.sleep,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """`give_up` is asked before every repetition: True ends the waiting."""
        self._url, self._patience_s, self._give_up, self._sleep = url, patience_s, give_up, sleep
        self._http = httpx2.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            timeout=_REQUEST_TIMEOUT_S,
            transport=transport,
            trust_env=False,
        )

    def hello(self, message: WorkerHello) -> RunSettings:
        """Introduce this worker; what a process of the same name held is lost by it."""
        return self._ask("hello", message, RunSettings)

    def claim(self, message: ClaimRequest) -> ClaimReply:
        """Ask for work."""
        return self._ask("claim", message, ClaimReply)

    def heartbeat(self, message: HeartbeatRequest) -> HeartbeatReply:
        """Renew a lease. Tried once: the next heartbeat is the repetition."""
        return self._once("heartbeat", message, HeartbeatReply)

    def report(self, message: EpisodeReport) -> Accepted:
        """Hand in one episode."""
        return self._ask("episodes", message, Accepted)

    def complete(self, attempt: AttemptRef) -> Accepted:
        """Every episode of the item was handed in."""
        return self._ask("complete", attempt, Accepted)

    def release(self, message: ReleaseRequest) -> Accepted:
        """Give an item back without a charge."""
        return self._ask("release", message, Accepted)

    def fail(self, message: FailRequest) -> Accepted:
        """Give an item back, one attempt charged."""
        return self._ask("fail", message, Accepted)

    def close(self) -> None:
        """Leave. Idempotent."""
        self._http.close()

    def _ask(self, name: str, message: Message, reply: type[Reply]) -> Reply:
        deadline = time.monotonic() + self._patience_s
        for pause in pauses():
            try:
                return self._once(name, message, reply)
            except _Busy as busy:
                deadline = time.monotonic() + self._patience_s
                problem: Exception = busy
            except CoordinatorGone as gone:
                problem = gone
            if self._give_up() or time.monotonic() + pause > deadline:
                raise CoordinatorGone(f"{problem}; gave up")
            _log.warning("%s; again in %.1f s", problem, pause)
            self._sleep(pause)
        raise AssertionError("pauses never end")

    def _once(self, name: str, message: Message, reply: type[Reply]) -> Reply:
        path = f"/v1/{name}"
        try:
            response = self._http.post(path, content=msgspec.json.encode(message))
        except httpx2.TransportError as error:
            raise CoordinatorGone(f"{self._url}{path}: {type(error).__name__}: {error}") from error
        if response.status_code == httpx2.codes.OK:
            return _decoded(response.content, reply, f"{self._url}{path}")
        raise _refusal(response.status_code, response.content, f"{self._url}{path}")


def _decoded(body: bytes, reply: type[Reply], where: str) -> Reply:
    try:
        return msgspec.json.decode(body, type=reply)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProtocolError(f"{where}: 200 with an unreadable body: {error}") from error


class _Busy(CoordinatorGone):
    """The coordinator is there and cannot serve right now."""


def _refusal(status: int, body: bytes, where: str) -> InfrastructureFault | RequestRefusedError:
    """What an answer other than 200 means. A server that is too busy to say why has no ErrorReply."""
    try:
        reply = msgspec.json.decode(body, type=ErrorReply)
    except (msgspec.DecodeError, UnicodeDecodeError):
        reply = ErrorReply(error="unreadable", message=body[: limits.MAX_ERROR_TEXT].decode(errors="replace"))
    text = f"{where}: {status} {reply.error}: {reply.message}"
    if reply.error == "lease_lost":
        return LeaseLostError(text)
    if status in (401, 403):
        return InfrastructureFault(text)
    if status == 503 and reply.error != "superseded":
        return _Busy(text)
    if status == 408 or status >= 500:
        return CoordinatorGone(text)
    return RequestRefusedError(text)
