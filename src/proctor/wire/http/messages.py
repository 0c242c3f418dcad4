"""What the shells hand to whoever uses them: requests, answers, replies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from proctor.limits import MAX_ERROR_TEXT


@dataclass(frozen=True)
class Request:
    """The header of one request that a server received."""

    method: str
    path: str
    """Without the query."""
    headers: dict[str, str] = field(default_factory=dict)
    """Names in lower case; of a repeated header the last."""


@dataclass(frozen=True)
class Answer:
    """What a server answers: JSON, always."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    close: bool = False
    """The connection ends with this answer."""


@dataclass(frozen=True)
class Reply:
    """What a client received."""

    status: int
    headers: dict[str, str]
    """Names in lower case; of a repeated header the last."""
    body: bytes


class Application(Protocol):
    """What is behind a server. Called on the threads of the connections, many at once."""

    def admit(self, request: Request) -> int | Answer:
        """How many bytes the body may have, or why it is not read at all."""
        ...

    def answer(self, request: Request, body: bytes) -> Answer:
        """Serve a request that was admitted."""
        ...


class _Error(msgspec.Struct):
    code: str
    message: str


class _ErrorBody(msgspec.Struct):
    error: _Error


def refusal(
    status: int, code: str, message: str, *, headers: tuple[tuple[str, str], ...] = (), close: bool = False
) -> Answer:
    """An error as every proctor server states it: `{"error": {"code": ..., "message": ...}}`."""
    body = msgspec.json.encode(_ErrorBody(_Error(code, message[:MAX_ERROR_TEXT])))
    return Answer(status, body, headers, close)
