import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import Future

import msgspec
import pytest
from starlette.testclient import TestClient

from proctor import limits
from proctor.coordinator import api
from proctor.coordinator.api import make_app
from proctor.coordinator.progress import Progress
from proctor.coordinator.store import New
from proctor.errors import StorageFault, SupersededError
from proctor.evaluation.protocol import (
    Accepted,
    ClaimReply,
    ClaimRequest,
    EpisodeReport,
    ErrorReply,
    FailRequest,
    HeartbeatReply,
    HeartbeatRequest,
    ReleaseRequest,
    RunSettings,
)
from proctor.evaluation.record import Outcome
from proctor.testing.store_driver import Driver, hello_of, ref_of, toy_error, toy_plan, toy_record

TOKEN = "t" * 43


@pytest.fixture
def driver(opener) -> Driver:
    return opener(New(toy_plan()))


@pytest.fixture
def client(driver: Driver) -> Iterator[TestClient]:
    with TestClient(
        make_app(driver.store, TOKEN),
        base_url="http://127.0.0.1:8000",
        headers={"Authorization": f"Bearer {TOKEN}"},
        raise_server_exceptions=False,
    ) as client:
        yield client


def ask(client, path, message, kind):
    answer = client.post(path, content=msgspec.json.encode(message))
    assert answer.status_code == 200, answer.text
    return msgspec.json.decode(answer.content, type=kind)


def refusal(answer) -> tuple[int, str]:
    return answer.status_code, msgspec.json.decode(answer.content, type=ErrorReply).error


def test_an_item_from_claim_to_completion(client):
    assert ask(client, "/v1/hello", hello_of("w0"), RunSettings).run == "r"
    lease = ask(client, "/v1/claim", ClaimRequest(worker="w0"), ClaimReply).lease
    beat = HeartbeatRequest(worker="w0", attempt=ref_of(lease), phase="step", episode_id="reach/0/0", step=4)
    assert ask(client, "/v1/heartbeat", beat, HeartbeatReply).lease_s == limits.LEASE_S
    for episode in lease.episodes:
        report = EpisodeReport(attempt=ref_of(lease), record=toy_record(episode))
        assert ask(client, "/v1/episodes", report, Accepted).stored
        assert not ask(client, "/v1/episodes", report, Accepted).stored
    assert ask(client, "/v1/complete", ref_of(lease), Accepted).stored
    progress = msgspec.json.decode(client.get("/v1/progress").content, type=Progress)
    assert (progress.completed, progress.planned, progress.state) == (2, 8, "running")
    (worker,) = progress.workers
    assert (worker.phase, worker.episode_id, worker.step, worker.silent_s) == ("step", "reach/0/0", 4, 0.0)


def test_release_fail_and_cancel(client):
    for path, request in (
        ("/v1/release", lambda ref: ReleaseRequest(attempt=ref, reason="test")),
        ("/v1/fail", lambda ref: FailRequest(attempt=ref, error=toy_error(), outcome="benchmark_error")),
    ):
        lease = ask(client, "/v1/claim", ClaimRequest(worker="w0"), ClaimReply).lease
        assert ask(client, path, request(ref_of(lease)), Accepted).stored
    lost = {"worker": "w0", "error": msgspec.to_builtins(toy_error()), "native_crash": False}
    assert not ask(client, "/v1/lost", lost, Accepted).stored
    assert ask(client, "/v1/cancel", {"reason": "test"}, Accepted).stored
    assert ask(client, "/v1/claim", ClaimRequest(worker="w0"), ClaimReply).drained


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer x", f"bearer {TOKEN}", f"Bearer {TOKEN}x"]
)
def test_without_the_token_nothing_is_served(client, authorization):
    headers = {} if authorization is None else {"Authorization": authorization}
    del client.headers["Authorization"]
    assert refusal(client.get("/v1/progress", headers=headers)) == (401, "unauthorised")
    assert refusal(client.post("/v1/claim", headers=headers, content=b"{}")) == (401, "unauthorised")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.2", "", "localhost@evil:80"]
)
def test_another_host_name_is_refused_even_with_the_token(client, host):
    assert refusal(client.get("/v1/progress", headers={"Host": host})) == (421, "wrong_host")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1234", "localhost:1", "LOCALHOST", "[::1]:80"])
def test_names_of_the_loopback_are_served(client, host):
    assert client.get("/v1/progress", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"worker": "\xff"}'])
def test_what_is_not_json_is_malformed(client, body):
    assert refusal(client.post("/v1/claim", content=body)) == (400, "malformed")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, ""),
        ({"worker": 1}, "worker"),
        ({"worker": "w", "taks": "x"}, ""),
        ([], ""),
        ({"worker": "w", "task": 3}, "task"),
    ],
)
def test_a_body_of_another_shape_is_invalid_and_the_field_is_named(client, body, field):
    answer = client.post("/v1/claim", content=json.dumps(body))
    assert refusal(answer) == (422, "invalid")
    assert msgspec.json.decode(answer.content, type=ErrorReply).field == field


@pytest.mark.parametrize("body", [b"[" * 1_000_000, b'{"worker": ' + b"[" * 1_000_000])
def test_a_deep_body_is_refused_at_its_first_wrong_bracket(client, body):
    assert refusal(client.post("/v1/claim", content=body)) == (422, "invalid")


def test_a_result_that_is_not_finite_is_invalid(client, driver):
    lease = driver.claim()
    body = msgspec.to_builtins(EpisodeReport(attempt=ref_of(lease), record=toy_record(lease.episodes[0])))
    body["record"]["episode_s"] = float("inf")
    text = json.dumps(body).replace("Infinity", "1e999")
    answer = client.post("/v1/episodes", content=text)
    assert answer.status_code in (400, 422)
    assert driver.store.progress().completed == 0


def test_a_body_over_the_limit_is_not_read(client, monkeypatch):
    monkeypatch.setattr(api, "MAX_BODY_BYTES", 100)
    assert refusal(client.post("/v1/claim", content=b" " * 101)) == (413, "too_large")
    chunks = (b" " * 60 for _ in range(2))
    assert refusal(client.post("/v1/claim", content=chunks)) == (413, "too_large")


def test_a_body_that_does_not_come_is_given_up(monkeypatch, driver):
    monkeypatch.setattr(api, "BODY_TIMEOUT_S", 0.01)
    sent = []

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/claim",
        "raw_path": b"/v1/claim",
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "http_version": "1.1",
        "scheme": "http",
    }
    asyncio.run(make_app(driver.store, TOKEN)(scope, receive, send))
    assert sent[0]["status"] == 408


def test_unknown_paths_and_methods(client):
    assert refusal(client.get("/v1/nothing")) == (404, "unknown_path")
    assert refusal(client.get("/v1/claim")) == (405, "wrong_method")
    assert refusal(client.get("/docs")) == (404, "unknown_path")
    assert refusal(client.get("/openapi.json")) == (404, "unknown_path")


def test_a_superseded_attempt_is_a_conflict(client, driver):
    lease = driver.claim()
    driver.release(lease)
    assert refusal(client.post("/v1/complete", content=msgspec.json.encode(ref_of(lease)))) == (
        409,
        "lease_lost",
    )


def test_a_contradiction_is_a_conflict(client, driver):
    lease = driver.claim()
    driver.report(lease, toy_record(lease.episodes[0]))
    other = EpisodeReport(attempt=ref_of(lease), record=toy_record(lease.episodes[0], Outcome.FAILURE))
    assert refusal(client.post("/v1/episodes", content=msgspec.json.encode(other))) == (409, "refused")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (StorageFault("full"), (503, "storage")),
        (SupersededError("gone"), (503, "superseded")),
        (AssertionError("bug"), (500, "internal")),
    ],
)
def test_faults_of_ours_have_names(client, driver, monkeypatch, fault, expected):
    failed: Future[Accepted] = Future()
    failed.set_exception(fault)
    monkeypatch.setattr(driver.store._writer, "submit", lambda _operation: failed)
    answer = client.post("/v1/cancel", content=b'{"reason": "test"}')
    assert refusal(answer) == expected
    retry_s = msgspec.json.decode(answer.content, type=ErrorReply).retry_s
    assert retry_s == (limits.STORAGE_RETRY_S if expected[1] == "storage" else None)
