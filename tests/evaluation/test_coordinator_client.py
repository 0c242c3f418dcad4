from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
import pytest

from proctor.errors import (
    CoordinatorGone,
    InfrastructureFault,
    LeaseLostError,
    ProtocolError,
    RequestRefusedError,
)
from proctor.evaluation.coordinator_client import CoordinatorClient
from proctor.evaluation.protocol import (
    Accepted,
    AttemptRef,
    ClaimReply,
    ClaimRequest,
    ErrorReply,
    HeartbeatRequest,
)

ATTEMPT = AttemptRef(worker="w", item=1, epoch=2, token="t" * 40)
STORED = (200, Accepted(stored=True))


class Scripted:
    """A fake coordinator: answers what the test says, in order, then the last answer for ever."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[httpx2.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return httpx2.Response(status, content=content)

    def client(
        self, patience_s: float = 30.0, give_up: Callable[[], bool] = lambda: False
    ) -> CoordinatorClient:
        return CoordinatorClient(
            "http://127.0.0.1:1",
            "secret",
            patience_s=patience_s,
            give_up=give_up,
            sleep=self.pauses.append,
            transport=httpx2.MockTransport(self),
        )


def refusal(status: int, error: str) -> tuple[int, ErrorReply]:
    return status, ErrorReply(error=error, message="why")


def test_a_request_is_typed_and_carries_the_token() -> None:
    script = Scripted((200, ClaimReply(drained=True)))
    assert script.client().claim(ClaimRequest(worker="w", task="reach")).drained
    (request,) = script.requests
    assert (request.method, request.url.path) == ("POST", "/v1/claim")
    assert request.headers["authorization"] == "Bearer secret"
    assert msgspec.json.decode(request.content) == {"worker": "w", "task": "reach"}


@pytest.mark.parametrize(
    "trouble",
    [
        httpx2.ConnectError("refused"),
        httpx2.ReadTimeout("slow"),
        refusal(503, "storage"),
        refusal(503, "superseded"),
        refusal(500, "internal"),
        refusal(408, "too_slow"),
        (503, b"busy"),
    ],
)
def test_trouble_is_waited_out_with_the_same_request(trouble: Any) -> None:
    script = Scripted(trouble, trouble, STORED)
    assert script.client().complete(ATTEMPT).stored
    assert len({request.content for request in script.requests}) == 1
    assert script.pauses == [0.1, 0.2]


def test_pauses_double_up_to_two_seconds() -> None:
    script = Scripted(*[httpx2.ConnectError("x")] * 8, STORED)
    script.client().complete(ATTEMPT)
    assert script.pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]


def test_a_silent_coordinator_is_given_up_when_patience_ends() -> None:
    script = Scripted(httpx2.ConnectError("refused"))
    with pytest.raises(CoordinatorGone, match=r"127\.0\.0\.1:1/v1/complete: ConnectError: refused; gave up"):
        script.client(patience_s=0.05).complete(ATTEMPT)
    assert len(script.requests) == 1


def test_a_coordinator_that_cannot_store_is_waited_for_beyond_all_patience() -> None:
    script = Scripted(*[refusal(503, "storage")] * 20, STORED)
    assert script.client(patience_s=2.5).complete(ATTEMPT).stored


def test_waiting_ends_when_it_is_to_be_given_up() -> None:
    script = Scripted(refusal(503, "storage"))
    with pytest.raises(CoordinatorGone):
        script.client(give_up=lambda: len(script.requests) >= 3).complete(ATTEMPT)
    assert len(script.requests) == 3


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refusal(409, "lease_lost"), LeaseLostError),
        (refusal(409, "refused"), RequestRefusedError),
        (refusal(422, "invalid"), RequestRefusedError),
        (refusal(413, "too_large"), RequestRefusedError),
        (refusal(401, "unauthorised"), InfrastructureFault),
        ((404, b"<html>"), RequestRefusedError),
    ],
)
def test_a_refusal_is_final_and_says_what_it_is(answer: Any, error: type[Exception]) -> None:
    script = Scripted(answer)
    with pytest.raises(error) as caught:
        script.client().complete(ATTEMPT)
    assert type(caught.value) is error
    assert "secret" not in str(caught.value)
    assert len(script.requests) == 1


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"stored": 1}', b'{"stored": "\xff"}'])
def test_an_answer_that_is_none_is_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError, match="/v1/complete: 200 with an unreadable body"):
        Scripted((200, body)).client().complete(ATTEMPT)


def test_a_heartbeat_is_sent_once() -> None:
    script = Scripted(httpx2.ConnectError("refused"))
    with pytest.raises(CoordinatorGone):
        script.client().heartbeat(HeartbeatRequest(worker="w", attempt=None, phase="idle"))
    assert (len(script.requests), script.pauses) == (1, [])


def test_no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    client = CoordinatorClient("http://127.0.0.1:1", "secret", patience_s=0.0)
    with pytest.raises(CoordinatorGone, match="Connection refused"):
        client.complete(ATTEMPT)
