"""What the launcher's client makes of a coordinator's answers."""

from __future__ import annotations

import httpx2
import msgspec
import pytest

from proctor.coordinator.client import CoordinatorClient
from proctor.errors import CoordinatorGone, ProtocolError, RequestRefusedError, StorageFault
from proctor.evaluation.protocol import ErrorReply


def client(status: int, body: bytes) -> CoordinatorClient:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, content=body))
    return CoordinatorClient("http://127.0.0.1:1", "token", transport=transport)


def reply(error: str) -> bytes:
    return msgspec.json.encode(ErrorReply(error=error, message="why"))


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (503, reply("superseded"), CoordinatorGone),
        (500, reply("internal"), CoordinatorGone),
        (408, reply("too_slow"), CoordinatorGone),
        (503, b"Service Unavailable", CoordinatorGone),
        (503, reply("storage"), StorageFault),
        (401, reply("unauthorised"), RequestRefusedError),
        (404, b"<html>", ProtocolError),
        (200, b"<html>", ProtocolError),
    ],
)
def test_an_answer_says_whose_fault_it_is(status: int, body: bytes, error: type[Exception]) -> None:
    with client(status, body) as coordinator, pytest.raises(error) as caught:
        coordinator.progress()
    assert type(caught.value) is error
    assert str(status) in str(caught.value) or "why" in str(caught.value)
