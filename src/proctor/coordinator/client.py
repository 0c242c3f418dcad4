"""The coordinator, for whoever started it: look, report a dead worker, cancel."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

import httpx2
import msgspec

from proctor.coordinator.progress import Progress
from proctor.errors import CoordinatorGone, ProtocolError, RequestRefusedError, StorageFault
from proctor.evaluation.protocol import Accepted, CancelRequest, ErrorReply, WorkerLost
from proctor.evaluation.record import ErrorRecord
from proctor.limits import CONTROL_TIMEOUT_S

T = TypeVar("T")


class CoordinatorClient:
    """One connection to one coordinator; for one thread.

    Every call raises CoordinatorGone when it is silent, too busy, broken or superseded, and StorageFault when
    it is there and cannot store. Nothing is retried: the caller supervises the process and knows whether
    there is any point.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = CONTROL_TIMEOUT_S,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._http = httpx2.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_s,
            transport=transport,
            trust_env=False,  # a proxy variable must not send the run's token elsewhere
        )

    def __enter__(self) -> CoordinatorClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave. Idempotent."""
        self._http.close()

    def progress(self) -> Progress:
        """Where the run is."""
        return self._ask("GET", "/v1/progress", None, Progress)

    def lost(self, worker: str, error: ErrorRecord, *, native_crash: bool) -> bool:
        """Say that a worker's process is gone; whether it held work. See WorkerLost."""
        request = WorkerLost(worker=worker, error=error, native_crash=native_crash)
        return self._ask("POST", "/v1/lost", request, Accepted).stored

    def cancel(self, reason: str) -> bool:
        """Hand out nothing more and stop the workers; whether that was news."""
        return self._ask("POST", "/v1/cancel", CancelRequest(reason=reason), Accepted).stored

    def _ask(self, method: str, path: str, request: object, kind: type[T]) -> T:
        body = None if request is None else msgspec.json.encode(request)
        try:
            answer = self._http.request(method, path, content=body)
        except httpx2.TransportError as error:
            raise CoordinatorGone(f"{method} {path}: {error}") from error
        where = f"{method} {path}: {answer.status_code}"
        try:
            if answer.status_code == httpx2.codes.OK:
                return msgspec.json.decode(answer.content, type=kind)
            refusal = msgspec.json.decode(answer.content, type=ErrorReply)
        except msgspec.DecodeError as error:
            trouble = CoordinatorGone if _is_trouble(answer.status_code) else ProtocolError
            raise trouble(f"{where} with an unreadable body") from error
        if refusal.error == "storage":
            raise StorageFault(refusal.message)
        if _is_trouble(answer.status_code):
            raise CoordinatorGone(f"{where} {refusal.error}: {refusal.message}")
        raise RequestRefusedError(f"{where} {refusal.error}: {refusal.message}")


def _is_trouble(status: int) -> bool:
    """Whether an answer speaks of the server's state rather than of the request."""
    return status >= 500 or status == httpx2.codes.REQUEST_TIMEOUT
