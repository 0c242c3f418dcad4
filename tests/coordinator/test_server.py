"""The process: its one line in, its one line out, and how it ends."""

import io
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from proctor.coordinator.audit import audit
from proctor.coordinator.client import CoordinatorClient
from proctor.coordinator.configuration import DATABASE_FILE, JOURNAL_FILE, Ready, ServerConfig
from proctor.coordinator.server import serve
from proctor.coordinator.store import New, Restart, Resume
from proctor.errors import CoordinatorGone, RequestRefusedError
from proctor.evaluation.protocol import Accepted, ClaimReply, ClaimRequest, EpisodeReport
from proctor.testing.store_driver import ref_of, toy_error, toy_plan, toy_record

TOKEN = "t" * 43

pytestmark = pytest.mark.process


class Process:
    """A coordinator and a client of it."""

    def __init__(self, directory: Path, start, *, port: int = 0, **changes) -> None:
        self.config = ServerConfig(directory=str(directory), start=start, token=TOKEN, port=port, **changes)
        self.child = subprocess.Popen(
            [sys.executable, "-m", "proctor.coordinator"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.child.stdin.write(msgspec.json.encode(self.config) + b"\n")
        self.child.stdin.flush()

    def ready(self) -> CoordinatorClient:
        self.said = msgspec.json.decode(self.child.stdout.readline(), type=Ready)
        self.client = CoordinatorClient(self.said.url, TOKEN)
        return self.client

    @property
    def port(self) -> int:
        return int(self.said.url.rpartition(":")[2])

    def end(self) -> tuple[int, bytes]:
        """Close its standard input and wait; exit status and log."""
        self.child.stdin.close()
        self.client.close()
        log = self.child.stderr.read()
        return self.child.wait(30), log


@pytest.fixture
def launch(tmp_path: Path) -> Iterator:
    started: list[Process] = []

    def launch_(start, **options) -> Process:
        started.append(Process(tmp_path, start, **options))
        return started[-1]

    yield launch_
    for process in started:
        process.child.kill()
        process.end()
        process.child.stdout.close()
        process.child.stderr.close()


def ask(client, path, message, kind):
    return client._ask("POST", path, message, kind)


def test_a_run_over_http_survives_a_kill_of_the_coordinator(launch, tmp_path):
    first = launch(New(toy_plan()))
    client = first.ready()
    lease = ask(client, "/v1/claim", ClaimRequest(worker="w0"), ClaimReply).lease
    report = EpisodeReport(attempt=ref_of(lease), record=toy_record(lease.episodes[0]))
    assert ask(client, "/v1/episodes", report, Accepted).stored
    first.child.kill()
    first.child.wait(30)
    with pytest.raises(CoordinatorGone):
        client.progress()

    second = launch(Restart("r"), port=first.port)
    client = second.ready()
    assert second.said.epoch == 2
    assert second.said.url == first.said.url
    report = EpisodeReport(attempt=ref_of(lease), record=toy_record(lease.episodes[1]))
    assert ask(client, "/v1/episodes", report, Accepted).stored
    assert ask(client, "/v1/complete", ref_of(lease), Accepted).stored
    assert client.progress().completed == 2
    assert second.end()[0] == 0
    assert audit(tmp_path / DATABASE_FILE) == ()
    assert len((tmp_path / JOURNAL_FILE).read_text().splitlines()) == 2


def test_the_launcher_reports_and_cancels(launch):
    process = launch(New(toy_plan()))
    client = process.ready()
    ask(client, "/v1/claim", ClaimRequest(worker="w0"), ClaimReply)
    assert client.lost("w0", toy_error("SIGKILL"), native_crash=False)
    assert not client.lost("w0", toy_error("SIGKILL"), native_crash=False)
    assert client.cancel("test")
    assert client.progress().state == "cancelled"


def test_a_settled_run_is_served_until_told_to_stop(launch):
    process = launch(New(toy_plan(("reach",), episodes=1)))
    client = process.ready()
    lease = ask(client, "/v1/claim", ClaimRequest(worker="w0"), ClaimReply).lease
    report = EpisodeReport(attempt=ref_of(lease), record=toy_record(lease.episodes[0]))
    ask(client, "/v1/episodes", report, Accepted)
    ask(client, "/v1/complete", ref_of(lease), Accepted)
    assert ask(client, "/v1/claim", ClaimRequest(worker="w0"), ClaimReply).drained
    assert client.progress().state == "settled"
    process.child.send_signal(signal.SIGTERM)
    assert process.child.wait(30) == 0


def test_the_end_of_standard_input_is_the_end(launch):
    process = launch(New(toy_plan()))
    process.ready()
    process.child.stdin.write(b"anything\n")
    process.child.stdin.flush()
    assert process.client.progress().planned == 8
    assert process.end()[0] == 0


def test_ctrl_c_is_left_to_the_keeper(launch):
    process = launch(New(toy_plan()))
    process.ready()
    process.child.send_signal(signal.SIGINT)
    assert process.client.progress().planned == 8


def test_only_loopback_is_listened_on(launch):
    process = launch(New(toy_plan()))
    process.ready()
    with socket.socket() as other:
        other.bind(("127.0.0.2", process.port))


def test_a_wrong_token_is_refused_by_name(launch):
    process = launch(New(toy_plan()))
    process.ready()
    with (
        CoordinatorClient(process.said.url, "x" * 43) as stranger,
        pytest.raises(RequestRefusedError, match="unauthorised"),
    ):
        stranger.progress()


def test_a_successor_ends_its_predecessor(launch):
    first = launch(New(toy_plan()))
    client = first.ready()
    second = launch(Resume(toy_plan()))
    second.ready()
    with pytest.raises(CoordinatorGone, match="superseded"):
        client.cancel("too late")


def test_a_port_in_use_costs_no_epoch(launch, tmp_path, caplog):
    first = launch(New(toy_plan()))
    first.ready()
    config = ServerConfig(directory=str(tmp_path), start=Restart("r"), token=TOKEN, port=first.port)
    assert serve(io.BytesIO(msgspec.json.encode(config))) == 5
    assert f"port {first.port}" in caplog.text
    assert first.client.progress().epoch == 1
    assert first.client.cancel("still the owner")


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b'{"directory": "/x", "tokne": ""}\n', b""])
def test_a_configuration_that_is_none_is_refused(line, caplog):
    assert serve(io.BytesIO(line)) == 2
    assert len(caplog.messages) == 1


def test_a_run_that_is_not_there_is_named(tmp_path, caplog):
    config = ServerConfig(directory=str(tmp_path), start=Restart("r"), token=TOKEN)
    assert serve(io.BytesIO(msgspec.json.encode(config))) == 2
    assert caplog.messages == ["unknown run 'r'. Valid: (none)"]


def test_neither_token_reaches_a_file_or_the_log(launch, tmp_path):
    process = launch(New(toy_plan()))
    client = process.ready()
    lease = ask(client, "/v1/claim", ClaimRequest(worker="w0"), ClaimReply).lease
    written = process.end()[1] + b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in (TOKEN, lease.token):
        assert secret.encode() not in written
    assert lease.episodes[0].id.encode() in written
