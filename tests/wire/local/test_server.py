"""The server towards clients that say anything: each harms itself alone."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from proctor import limits
from proctor.errors import PolicyGoneError, ProtocolError, UsageError
from proctor.policy import ActionChunk, Observation, PolicyState
from proctor.testing.probe_policy import ProbePolicy, probe_context, probe_episode, probe_observation
from proctor.wire.local import (
    PolicyClient,
    PolicyRemoteError,
    PolicyServer,
    address,
    connection,
    desk,
    memory,
)
from proctor.wire.local import messages as m
from proctor.wire.local.codec import encode_frame
from proctor.wire.local.observations import layout_of

PATIENT_S = 10.0
Raw = Callable[[], "object"]


def expect_closing(client: object, reason: str, text: str) -> None:
    message = client.receive()
    while not isinstance(message, m.Closing):
        assert message is not None
        message = client.receive()
    assert message.reason == reason
    assert text in message.message
    assert client.receive() is None


def assert_still_serves(client: PolicyClient) -> None:
    client.reset(probe_episode("sound"))
    assert client.act(probe_observation("sound", 3)).actions[0] == 3
    client.end_episode("sound")


class TestIntroduction:
    def test_the_server_greets_first(self, raw: Raw) -> None:
        greeting = raw().receive()
        assert isinstance(greeting, m.Greeting)
        assert greeting.protocol == "proctor.local/1"
        assert greeting.version
        assert greeting.state == "created"

    def test_another_protocol_is_named(self, raw: Raw) -> None:
        client = raw()
        client.send(m.Hello("proctor.local/9", "control"))
        expect_closing(client, "protocol", "this server speaks proctor.local/1, not 'proctor.local/9'")

    def test_a_client_introduces_itself_first(self, raw: Raw) -> None:
        client = raw()
        client.send(m.HealthRequest(1))
        expect_closing(client, "protocol", "the first message of a client must be hello")

    def test_a_client_introduces_itself_once(self, raw: Raw) -> None:
        client = raw().introduce("control")
        client.send(m.Hello(m.PROTOCOL, "control"))
        expect_closing(client, "protocol", "says hello once")

    def test_who_is_too_slow_to_introduce_itself_is_closed(
        self, monkeypatch: pytest.MonkeyPatch, server: PolicyServer, raw: Raw
    ) -> None:
        monkeypatch.setattr(desk, "HANDSHAKE_TIMEOUT_S", 0.0)
        client = raw()
        server._poller.wake()
        expect_closing(client, "protocol", "too slow")

    def test_hello_and_a_request_may_come_at_once(self, client: PolicyClient, raw: Raw) -> None:
        both = raw()
        reset = m.ResetRequest(5, probe_episode("early").to_dict())
        both.socket.sendall(encode_frame(m.Hello(m.PROTOCOL, "episodes")) + encode_frame(reset))
        assert isinstance(both.receive(), m.Greeting)
        assert both.receive() == m.Done(5)


NONSENSE = {
    "no header": bytes(8),
    "random": bytes(range(40, 90)),
    "oversize header": struct.pack("<II", limits.MAX_HEADER_BYTES + 1, 0),
    "oversize body": struct.pack("<II", 8, limits.MAX_BODY_FRAME_BYTES + 1),
    "an answer": encode_frame(m.Done(1)),
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "deep": struct.pack("<II", 200_010, 0) + b"\x93\xa4load\x01\x81\xa1k" + b"\x91" * 200_000,
}


class TestNonsense:
    @pytest.mark.parametrize("role", ["control", "episodes"])
    @pytest.mark.parametrize("data", NONSENSE.values(), ids=NONSENSE.keys())
    def test_nonsense_closes_its_connection_alone(
        self, client: PolicyClient, raw: Raw, role: m.Role, data: bytes
    ) -> None:
        bad = raw().introduce(role)
        bad.socket.sendall(data)
        expect_closing(bad, "protocol", "")
        assert_still_serves(client)

    @pytest.mark.parametrize("role", ["control", "episodes"])
    @pytest.mark.parametrize("size", [0, 3, 8, 12])
    def test_a_stream_that_ends_anywhere_harms_nobody(
        self, client: PolicyClient, raw: Raw, role: m.Role, size: int
    ) -> None:
        bad = raw().introduce(role)
        bad.socket.sendall(encode_frame(m.HealthRequest(1))[:size])
        bad.socket.shutdown(socket.SHUT_WR)
        answers = [bad.receive()]
        while answers[-1] is not None:
            answers.append(bad.receive())
        assert all(isinstance(answer, m.Closing) for answer in answers[:-1])
        assert_still_serves(client)

    @pytest.mark.parametrize(
        ("role", "message"),
        [
            ("control", m.ResetRequest(1, {})),
            ("control", m.Memory(4096)),
            ("episodes", m.HealthRequest(1)),
            ("episodes", m.UnloadRequest(1)),
            ("episodes", m.Hello(m.PROTOCOL, "episodes")),
        ],
    )
    def test_a_request_on_the_wrong_connection_is_nonsense(
        self, client: PolicyClient, raw: Raw, role: m.Role, message: m.ToServer
    ) -> None:
        bad = raw().introduce(role)
        bad.send(message)
        expect_closing(bad, "protocol", "")
        assert_still_serves(client)

    def test_memory_without_a_descriptor_is_nonsense(self, client: PolicyClient, raw: Raw) -> None:
        bad = raw().introduce("episodes")
        bad.send(m.Memory(4096))
        expect_closing(bad, "protocol", "came without a descriptor")

    @pytest.mark.skipif(not memory.AVAILABLE, reason="this host has no sealed shared memory")
    def test_memory_that_could_shrink_is_nonsense(self, client: PolicyClient, raw: Raw) -> None:
        bad, fd = raw().introduce("episodes"), os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, 4096)
        bad.send(m.Memory(4096), fd=fd)
        os.close(fd)
        expect_closing(bad, "protocol", "must be sealed")
        assert_still_serves(client)

    def test_descriptors_that_nobody_announced_are_closed(
        self, client: PolicyClient, raw: Raw, descriptors: Callable[[], set[str]], tmp_path: Path
    ) -> None:
        assert_still_serves(client)
        bad = raw().introduce("episodes")
        before = descriptors()
        with (tmp_path / "file").open("w") as file:
            for number in range(2):
                bad.send(m.EndRequest(number, "unknown", ""), fd=file.fileno())
        expect_closing(bad, "protocol", "descriptors came that no memory message announced")
        assert len(descriptors()) < len(before)

    @pytest.mark.parametrize(
        "context", [{}, {"episode_id": "", "task_id": "t"}, {"episode_id": "a", "task_id": "t", "sed": 1}]
    )
    def test_a_context_that_is_none_is_refused(
        self, client: PolicyClient, raw: Raw, context: dict[str, object]
    ) -> None:
        wrong = raw().introduce("episodes")
        wrong.send(m.ResetRequest(4, context))
        answer = wrong.receive()
        assert isinstance(answer, m.Failed)
        assert (answer.id, answer.code, answer.state) == (4, "refused", "ready")
        wrong.send(m.ResetRequest(5, probe_episode("right").to_dict()))
        assert wrong.receive() == m.Done(5)

    def test_a_session_that_is_none_is_refused(self, raw: Raw, server: PolicyServer, path: Path) -> None:
        wrong = raw().introduce("control")
        wrong.send(m.LoadRequest(1, {"session_id": "s", "checkpoint_path": "", "benchmark": {"name": "x"}}))
        answer = wrong.receive()
        assert isinstance(answer, m.Failed)
        assert answer.code == "refused"
        with PolicyClient(path) as client:
            assert client.load(probe_context()).supported_benchmarks == ("probe",)

    def test_a_hundred_bad_messages_change_no_answer(self, client: PolicyClient, raw: Raw) -> None:
        client.reset(probe_episode("b"))
        before = [client.act(probe_observation("b", step)).actions.tobytes() for step in range(5)]
        for number in range(100):
            bad = raw().introduce("episodes")
            bad.send(m.Layout(0, layout_of(probe_observation("a"), 0).arrays, ("language.instruction",)))
            query = m.Query("b", 0, 0, 0, True, 0, None, None, ("raise",))
            bad.send(m.ActRequest(number, query), bytes(4096))
            answer = bad.receive()
            assert isinstance(answer, m.Failed)
            assert answer.code == "refused"
            bad.socket.sendall(b"\xff" * 8)
        after = [client.act(probe_observation("b", step)).actions.tobytes() for step in range(5)]
        assert after == before


class TestSlowness:
    def test_who_does_not_read_is_closed_and_the_others_go_on(
        self, client: PolicyClient, raw: Raw, monkeypatch: pytest.MonkeyPatch, server: PolicyServer
    ) -> None:
        deaf = raw().introduce("episodes")
        deaf.socket.settimeout(0.1)
        requests = encode_frame(m.EndRequest(1, "unknown", "")) * 100_000
        with pytest.raises(TimeoutError):
            deaf.socket.sendall(requests)
        assert_still_serves(client)
        monkeypatch.setattr(connection, "DRAIN_TIMEOUT_S", 0.0)
        server._host._swept = 0.0
        assert_still_serves(client)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            deaf.socket.sendall(requests)

    def test_who_does_not_read_health_is_not_read(
        self, client: PolicyClient, raw: Raw, server: PolicyServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        deaf = raw().introduce("control")
        deaf.socket.settimeout(0.1)
        requests = encode_frame(m.DescribeRequest(7)) * 100_000
        with pytest.raises(TimeoutError):
            deaf.socket.sendall(requests)
        assert client.health().state is PolicyState.READY
        for _ in range(1000):
            assert isinstance(deaf.receive(), m.Description)
        monkeypatch.setattr(connection, "DRAIN_TIMEOUT_S", 0.0)
        with pytest.raises((TimeoutError, BrokenPipeError, ConnectionResetError)):
            deaf.socket.sendall(requests)
        server._poller.wake()
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            deaf.socket.sendall(requests)

    def test_health_is_answered_while_the_policy_acts(
        self, client: PolicyClient, path: Path, probe: ProbePolicy
    ) -> None:
        client.reset(probe_episode("a"))
        asking = threading.Thread(target=client.act, args=(probe_observation("a", 1, "wait"),))
        asking.start()
        assert probe.waiting.wait(PATIENT_S)
        with PolicyClient(path) as other:
            other.health()
            begun = time.monotonic()
            health = other.health()
            assert time.monotonic() - begun < 0.05
        assert (health.state, health.operation, health.episodes) == (PolicyState.READY, "act", 1)
        assert 0 < health.busy_s < PATIENT_S
        probe.release.set()
        asking.join()
        assert client.health().operation == ""

    def test_a_client_that_vanishes_while_it_waits_harms_nobody(
        self, client: PolicyClient, raw: Raw, probe: ProbePolicy
    ) -> None:
        vanishing = raw().introduce("episodes")
        vanishing.send(m.ResetRequest(1, probe_episode("a").to_dict()))
        assert vanishing.receive() == m.Done(1)
        layout = layout_of(probe_observation("a"), 0)
        vanishing.send(layout)
        body = bytes(layout.arrays[-1].offset + 12)
        vanishing.send(m.ActRequest(2, m.Query("a", 0, 0, 0, True, 0, None, None, ("wait",))), body)
        assert probe.waiting.wait(PATIENT_S)
        vanishing.socket.close()
        probe.release.set()
        assert_still_serves(client)
        assert_still_serves(client)
        assert probe.hooks("a") == ["reset", "act", "end_episode"]


class TestConnections:
    def test_the_socket_is_private(self, server: PolicyServer, path: Path) -> None:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_another_user_is_refused(
        self, client: PolicyClient, raw: Raw, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(address, "same_user", lambda sock: False)
        assert raw().receive() is None

    def test_connections_beyond_the_limit_are_told(
        self, client: PolicyClient, raw: Raw, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("proctor.wire.local.server.MAX_CONNECTIONS", 2)
        expect_closing(raw(), "full", "at most 2 connections")
        assert client.health().state is PolicyState.READY

    def test_connections_leave_no_descriptor(
        self, client: PolicyClient, path: Path, descriptors: Callable[[], set[str]]
    ) -> None:
        assert_still_serves(client)
        before = len(descriptors())
        for number in range(20):
            with PolicyClient(path, PATIENT_S) as passing:
                passing.reset(probe_episode(f"passing {number}"))
                passing.act(probe_observation(f"passing {number}"))
        for _ in range(3):
            assert_still_serves(client)
            client.health()
        assert len(descriptors()) <= before

    def test_a_second_server_leaves_the_first_alone(self, client: PolicyClient, path: Path) -> None:
        with pytest.raises(UsageError, match="another policy server"), PolicyServer(ProbePolicy(), path):
            pass
        assert_still_serves(client)

    def test_a_worker_killed_with_a_request_on_its_way_can_be_replaced(
        self, client: PolicyClient, raw: Raw, path: Path, probe: ProbePolicy
    ) -> None:
        client.reset(probe_episode("busy"))
        killed = raw().introduce("episodes")
        killed.send(m.ResetRequest(1, probe_episode("a").to_dict()))
        assert killed.receive() == m.Done(1)
        asking = threading.Thread(target=client.act, args=(probe_observation("busy", 1, "wait"),))
        asking.start()
        assert probe.waiting.wait(PATIENT_S)
        for number in range(3):
            killed.send(m.EndRequest(number, "unknown", ""))
        killed.socket.close()
        probe.release.set()
        with PolicyClient(path, PATIENT_S) as successor:
            successor.reset(probe_episode("a"))
            assert successor.act(probe_observation("a", 5)).actions[0] == 5
        asking.join()
        assert probe.hooks("a")[:4] == ["reset", "end_episode", "reset", "act"]

    def test_a_connection_that_cannot_be_accepted_harms_nobody(
        self, client: PolicyClient, server: PolicyServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Exhausted:
            def accept(self) -> None:
                raise OSError(24, "Too many open files")

        server._accept(Exhausted())
        assert "Too many open files" in caplog.text
        assert_still_serves(client)

    def test_capabilities_too_large_to_travel_close_the_connection(self, path: Path) -> None:
        large = ProbePolicy(supported_suites={"probe": ("all", "x" * (2 << 20))})
        with PolicyServer(large, path), PolicyClient(path) as client:
            with pytest.raises(ProtocolError, match="at most"):
                client.load(probe_context())
            assert client.health().state is PolicyState.READY


class TestLeaving:
    def test_unload_is_answered_and_ends_the_server(
        self, client: PolicyClient, server: PolicyServer, path: Path, probe: ProbePolicy
    ) -> None:
        client.unload()
        server.close()
        assert not path.exists()
        assert probe.calls[-1] == ("unload", "")

    def test_leaving_the_block_unloads(self, probe: ProbePolicy, path: Path) -> None:
        with PolicyServer(probe, path), PolicyClient(path) as client:
            client.load(probe_context())
            client.reset(probe_episode("a"))
        assert probe.calls[-2:] == [("end_episode", "a"), ("unload", "")]
        assert not path.exists()

    def test_clients_are_told_that_the_server_leaves(
        self, client: PolicyClient, server: PolicyServer, raw: Raw
    ) -> None:
        for role in ("control", "episodes"):
            waiting = raw().introduce(role)
            waiting.send(m.HealthRequest(1) if role == "control" else m.EndRequest(1, "unknown", ""))
            assert waiting.receive() is not None
            if role == "control":
                control = waiting
        server.close()
        expect_closing(control, "leaving", "no longer served")
        expect_closing(waiting, "leaving", "no longer served")

    def test_a_server_that_never_served_can_be_closed(self, probe: ProbePolicy, path: Path) -> None:
        never = PolicyServer(probe, path)
        never.listen()
        never.listen()
        never.close()
        never.close()
        assert not path.exists()
        assert probe.calls == []

    def test_a_policy_that_hangs_does_not_hold_up_its_process(
        self,
        probe: ProbePolicy,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        def ask(client: PolicyClient) -> None:
            with contextlib.suppress(PolicyGoneError):
                client.act(probe_observation("a", 1, "wait"))

        monkeypatch.setattr("proctor.wire.local.server.UNLOAD_TIMEOUT_S", 0.01)
        server = PolicyServer(probe, path)
        with server, PolicyClient(path) as client:
            client.load(probe_context())
            client.reset(probe_episode("a"))
            asking = threading.Thread(target=ask, args=(client,))
            asking.start()
            assert probe.waiting.wait(PATIENT_S)
        assert "did not unload" in caplog.text
        probe.release.set()
        asking.join()
        monkeypatch.setattr("proctor.wire.local.server.UNLOAD_TIMEOUT_S", PATIENT_S)
        server.close()
        assert probe.calls[-1] == ("unload", "")

    def test_what_ends_the_replica_ends_the_server(self, path: Path) -> None:
        class Exiting(ProbePolicy):
            def act(self, observation: Observation) -> ActionChunk:
                raise SystemExit(3)

        server = PolicyServer(Exiting(), path)
        answers: list[Exception] = []

        def drive() -> None:
            with PolicyClient(path, PATIENT_S) as client:
                client.wait_until_ready(PATIENT_S)
                client.load(probe_context())
                client.reset(probe_episode("a"))
                try:
                    client.act(probe_observation("a"))
                except PolicyRemoteError as error:
                    answers.append(error)

        driver = threading.Thread(target=drive)
        driver.start()
        with pytest.raises(SystemExit):
            server.serve()
        driver.join()
        assert [error.code for error in answers] == ["policy_gone"]


def test_actions_of_a_dtype_that_cannot_travel_are_the_policys_fault(path: Path) -> None:
    class Exotic(ProbePolicy):
        def act(self, observation: Observation) -> ActionChunk:
            return ActionChunk(np.zeros(3, np.longdouble))

    longdouble = probe_context().to_dict()
    longdouble["benchmark"]["action"]["dtype"] = np.dtype(np.longdouble).name
    try:
        context = type(probe_context()).from_dict(longdouble)
    except (TypeError, ValueError):
        return
    with PolicyServer(Exotic(), path), PolicyClient(path) as client:
        client.load(context)
        client.reset(probe_episode("a"))
        with pytest.raises(PolicyRemoteError, match="the actions cannot travel") as caught:
            client.act(probe_observation("a"))
        assert caught.value.code == "invalid_action"


def test_protocol_errors_are_protocol_errors_for_the_client(client: PolicyClient) -> None:
    client._channel().send(m.HealthRequest(1), PATIENT_S)
    with pytest.raises(ProtocolError, match="HealthRequest does not belong"):
        client.reset(probe_episode("a"))
    assert_still_serves(client)
