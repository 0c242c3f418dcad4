"""The server's side of one connection: requests within their deadlines and bounds, one after the other."""

from __future__ import annotations

import contextlib
import logging
import time
from http.client import responses
from typing import Final

import h11

from proctor.limits import (
    DRAIN_TIMEOUT_S,
    EPISODE_TTL_S,
    HTTP_BODY_TIMEOUT_S,
    HTTP_HEADER_TIMEOUT_S,
    MAX_HTTP_HEADER_BYTES,
)
from proctor.wire.http.messages import Answer, Application, Request, refusal
from proctor.wire.http.stream import Stream

_LINGER_BYTES: Final = 64 << 10
_LINGER_S: Final = 1.0
_Event = h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]

_log = logging.getLogger(__name__)


class Refused(Exception):
    """A request whose body is not read; the connection ends with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class ServerConnection:
    """One accepted connection. `serve` runs on its own thread; `stop` may come from any."""

    def __init__(self, stream: Stream, application: Application) -> None:
        self._stream, self._application = stream, application
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HTTP_HEADER_BYTES)
        self._idle = True
        self._stopping = False

    def serve(self) -> None:
        """Answer requests until either side is done. Never raises for the other side's fault."""
        patience_s = HTTP_HEADER_TIMEOUT_S
        with contextlib.suppress(OSError):
            while self._await_request(patience_s) and self._serve_one():
                patience_s = EPISODE_TTL_S

    def stop(self) -> None:
        """End the connection: at once between requests, else after the answer that is being made."""
        self._stopping = True
        if self._idle:
            self._stream.shut()

    def _await_request(self, patience_s: float) -> bool:
        if self._http.trailing_data[0]:
            return not self._stopping
        self._idle = True
        arrived = not self._stopping and self._stream.readable(time.monotonic() + patience_s)
        self._idle = False
        return arrived and not self._stopping

    def _serve_one(self) -> bool:
        """Whether the connection can be used again."""
        method = b""
        try:
            head = self._next_event(time.monotonic() + HTTP_HEADER_TIMEOUT_S)
            if not isinstance(head, h11.Request):
                return False  # the client is done
            method = head.method
            request = _request(head)
            body = self._read_body(self._admit(request))
            answer = self._ask(request, body)
        except Refused as refused:
            self._send(refused.answer, method, close=True)
            self._stream.linger(_LINGER_BYTES, _LINGER_S)
            return False
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint
            self._send(refusal(status, "not_http", str(error)), method, close=True)
            self._stream.linger(_LINGER_BYTES, _LINGER_S)
            return False
        self._send(answer, method, close=answer.close or self._stopping)
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def _admit(self, request: Request) -> int:
        encoding = request.headers.get("content-encoding", "identity").lower()
        if encoding != "identity":
            raise Refused(
                refusal(415, "encoded_body", f"Content-Encoding {encoding!r} is not read; send none")
            )
        limit = self._application.admit(request)
        if isinstance(limit, Answer):
            raise Refused(limit)
        announced = request.headers.get("content-length", "0")
        if int(announced) > limit:  # h11 has made sure that it is a number
            raise Refused(_too_large(limit))
        return limit

    def _read_body(self, limit: int) -> bytes:
        deadline = time.monotonic() + HTTP_BODY_TIMEOUT_S
        if self._http.they_are_waiting_for_100_continue:
            going_on = h11.InformationalResponse(status_code=100, headers=[])
            self._stream.send(self._http.send(going_on) or b"", deadline)
        body = bytearray()
        while True:
            try:
                event = self._next_event(deadline)
            except TimeoutError:
                message = f"the body took over {HTTP_BODY_TIMEOUT_S:g} s"
                raise Refused(refusal(408, "body_timeout", message)) from None
            if not isinstance(event, h11.Data):
                return bytes(body)
            body += event.data
            if len(body) > limit:
                raise Refused(_too_large(limit))

    def _next_event(self, deadline: float) -> _Event:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._http.receive_data(self._stream.receive(deadline))

    def _ask(self, request: Request, body: bytes) -> Answer:
        try:
            return self._application.answer(request, body)
        except Exception:
            _log.exception("%s %s failed", request.method, request.path)
            return refusal(500, "internal_error", "this server failed; its log says how", close=True)

    def _send(self, answer: Answer, method: bytes, *, close: bool) -> None:
        """Send an answer, unless the client has spoken in a way that leaves none."""
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(answer.body)))]
        headers += answer.headers
        if close:
            headers.append(("Connection", "close"))
        response = h11.Response(status_code=answer.status, headers=headers, reason=_reason(answer.status))
        body = b"" if method == b"HEAD" else answer.body
        try:
            parts = [self._http.send(event) for event in (response, h11.Data(data=body), h11.EndOfMessage())]
        except h11.LocalProtocolError:
            return
        self._stream.send(b"".join(part for part in parts if part), time.monotonic() + DRAIN_TIMEOUT_S)


def _request(head: h11.Request) -> Request:
    headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
    path = head.target.partition(b"?")[0].decode("ascii", "replace")
    return Request(head.method.decode("ascii"), path, headers)


def _too_large(limit: int) -> Answer:
    return refusal(413, "too_large", f"the body is over {limit} bytes")


def _reason(status: int) -> bytes:
    return responses.get(status, "").encode("ascii")
