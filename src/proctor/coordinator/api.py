"""The store over HTTP: `proctor.evaluation.protocol`, a bearer token, and nothing else.

Bodies are read raw, within a size and a time, and decoded by msgspec straight into the protocol's types. What
cannot be served is answered with an ErrorReply:

    400 malformed   401 unauthorised   404 unknown_path   405 wrong_method   408 too_slow   413 too_large
    409 lease_lost, refused   421 wrong_host   422 invalid   500 internal   503 storage, superseded
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any, Final

import msgspec
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from proctor.coordinator.store import RunStore
from proctor.errors import LeaseLostError, RequestRefusedError, StorageFault, SupersededError
from proctor.evaluation.protocol import (
    AttemptRef,
    CancelRequest,
    ClaimRequest,
    EpisodeReport,
    ErrorReply,
    FailRequest,
    HeartbeatRequest,
    ReleaseRequest,
    WorkerHello,
    WorkerLost,
)
from proctor.limits import BODY_TIMEOUT_S, MAX_BODY_BYTES, STORAGE_RETRY_S

log = logging.getLogger(__name__)

Endpoint = Callable[[Request], Awaitable[Response]]

LOCAL_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""What a Host header may name on loopback: a web page cannot reach us under a name of its own."""


_UNROUTABLE: Final = {
    HTTPStatus.NOT_FOUND: "unknown_path",
    HTTPStatus.METHOD_NOT_ALLOWED: "wrong_method",
    HTTPStatus.REQUEST_TIMEOUT: "too_slow",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "too_large",
}


def make_app(store: RunStore, token: str, *, host_names: frozenset[str] = LOCAL_NAMES) -> ASGIApp:
    """Serve a store to whoever holds the run's token."""
    app = FastAPI(openapi_url=None)
    transitions: dict[str, tuple[Any, Callable[[Any], Future[Any]]]] = {
        "/v1/hello": (WorkerHello, store.hello),
        "/v1/claim": (ClaimRequest, store.claim),
        "/v1/heartbeat": (HeartbeatRequest, store.heartbeat),
        "/v1/episodes": (EpisodeReport, store.report),
        "/v1/complete": (AttemptRef, store.complete),
        "/v1/release": (ReleaseRequest, store.release),
        "/v1/fail": (FailRequest, store.fail),
        "/v1/lost": (WorkerLost, store.lost),
        "/v1/cancel": (CancelRequest, store.cancel),
    }
    for path, (kind, transition) in transitions.items():
        app.add_route(path, _endpoint(kind, transition), methods=["POST"])
    app.add_route("/v1/progress", _progress(store), methods=["GET"])
    app.add_exception_handler(HTTPException, _unroutable)
    app.add_exception_handler(Exception, _internal)
    return _Guard(app, token, host_names)


class _Guard:
    """Turns away whoever is not meant, before anything of their request is read."""

    def __init__(self, app: ASGIApp, token: str, host_names: frozenset[str]) -> None:
        self.app, self.host_names = app, host_names
        self.authorization = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(dict(scope["headers"]))
        await (self.app if refusal is None else refusal)(scope, receive, send)

    def _refusal(self, headers: dict[bytes, bytes]) -> Response | None:
        name = headers.get(b"host", b"").decode("latin-1").lower()
        if re.sub(r":\d+$", "", name) not in self.host_names:
            return _error(HTTPStatus.MISDIRECTED_REQUEST, "wrong_host", "this host name is not served here")
        if not hmac.compare_digest(headers.get(b"authorization", b""), self.authorization):
            return _error(HTTPStatus.UNAUTHORIZED, "unauthorised", "the run's token is missing or wrong")
        return None


def _endpoint(kind: Any, transition: Callable[[Any], Future[Any]]) -> Endpoint:
    decoder = msgspec.json.Decoder(kind)

    async def endpoint(request: Request) -> Response:
        try:
            message = decoder.decode(await _body(request))
            reply = await asyncio.wrap_future(transition(message))
        except HTTPException as refusal:
            return await _unroutable(request, refusal)
        except Exception as error:
            return _answer(error)
        return _json(HTTPStatus.OK, reply)

    return endpoint


def _progress(store: RunStore) -> Endpoint:
    async def endpoint(_request: Request) -> Response:
        return _json(HTTPStatus.OK, store.progress())

    return endpoint


async def _body(request: Request) -> bytes:
    """All of the body, read no further than the limit."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > MAX_BODY_BYTES:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY_BYTES:
                    raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT) from None
    return bytes(body)


def _answer(error: Exception) -> Response:
    match error:
        case LeaseLostError():
            return _error(HTTPStatus.CONFLICT, "lease_lost", str(error))
        case RequestRefusedError():
            return _error(HTTPStatus.CONFLICT, "refused", str(error))
        case StorageFault():
            log.error("%s", error)
            return _error(HTTPStatus.SERVICE_UNAVAILABLE, "storage", str(error), retry_s=STORAGE_RETRY_S)
        case SupersededError():
            return _error(HTTPStatus.SERVICE_UNAVAILABLE, "superseded", str(error))
        case msgspec.ValidationError():
            return _error(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", str(error), field=_field(str(error)))
        case msgspec.DecodeError() | UnicodeDecodeError():
            return _error(HTTPStatus.BAD_REQUEST, "malformed", str(error))
        case _:
            raise error


def _field(message: str) -> str:
    """Where msgspec found fault: `attempt.epoch` of "- at `$.attempt.epoch`"; empty for the body itself."""
    found = re.search(r"at `\$\.?([^`]*)`$", message)
    return found.group(1) if found else ""


async def _unroutable(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    return _error(status, _UNROUTABLE.get(status, "refused"), error.detail)


async def _internal(_request: Request, error: Exception) -> Response:
    log.error("request failed", exc_info=error)
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "see the coordinator's log")


def _error(
    status: HTTPStatus, error: str, message: str, *, field: str | None = None, retry_s: float | None = None
) -> Response:
    return _json(status, ErrorReply(error=error, message=message, field=field, retry_s=retry_s))


def _json(status: HTTPStatus, value: object) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
