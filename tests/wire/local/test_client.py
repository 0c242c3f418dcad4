"""The client towards servers that answer late, wrongly, or not at all."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.errors import (
    DeadlineError,
    InvalidActionError,
    PolicyGoneError,
    PolicyLoadError,
    PolicyRaisedError,
    ProctorError,
    ProtocolError,
    RequestRefusedError,
)
from proctor.policy import PolicyState
from proctor.testing.probe_policy import (
    PROBE_SPEC,
    ProbePolicy,
    probe_context,
    probe_episode,
    probe_observation,
)
from proctor.wire.local import PolicyClient, PolicyRemoteError, PolicyServer, address
from proctor.wire.local import messages as m
from proctor.wire.local.codec import FrameReader, decode_to_server, encode_frame

PATIENT_S = 10.0
HASTY_S = 0.05
GREETING = encode_frame(m.Greeting(m.PROTOCOL, "1.0", PolicyState.READY))
ACTION = m.ChunkForm("float32", (3,)), np.ones(3, np.float32).tobytes()

Answer = Callable[[int, m.ToServer], bytes]
"""What a scripted server sends in answer to the n-th request."""


class ScriptedServer:
    """Greets, then answers as it is told; closes where it is told nothing."""

    def __init__(self, path: Path, greeting: bytes = GREETING) -> None:
        self.answer: Answer = lambda number, request: b""
        self.requests: list[m.ToServer] = []
        self.may_greet = threading.Event()
        self.may_greet.set()
        self._greeting = greeting
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(sock,)))
            self._threads[-1].start()

    def _serve(self, sock: socket.socket) -> None:
        reader, number = FrameReader(), 0
        with sock, contextlib.suppress(ConnectionError):
            self.may_greet.wait(PATIENT_S)
            sock.sendall(self._greeting)
            while data := sock.recv(65536):
                reader.feed(data)
                while (frame := reader.next_frame()) is not None:
                    request = decode_to_server(frame[0])
                    if isinstance(request, (m.Hello, m.Memory, m.Layout)):
                        continue
                    self.requests.append(request)
                    answer = self.answer(number, request)
                    number += 1
                    if not answer:
                        return
                    sock.sendall(answer)


@pytest.fixture
def scripted(path: Path) -> Iterator[ScriptedServer]:
    server = ScriptedServer(path)
    yield server
    server.close()


@pytest.fixture
def asking(scripted: ScriptedServer, path: Path) -> Iterator[PolicyClient]:
    with PolicyClient(path, PATIENT_S) as client:
        yield client


def chunk(request_id: int) -> bytes:
    return encode_frame(m.Chunk(request_id, ACTION[0]), ACTION[1])


class TestConversation:
    def test_a_whole_life(self, server: PolicyServer, path: Path, probe: ProbePolicy) -> None:
        with PolicyClient(path, PATIENT_S) as client:
            assert client.wait_until_ready(PATIENT_S).state is PolicyState.CREATED
            assert client.describe() is None
            assert client.load(probe_context()).max_batch_size == 4
            loaded = client.describe()
            assert loaded is not None
            assert (loaded.benchmark, loaded.batching) == (PROBE_SPEC, "none")
            for name in "ab":
                client.reset(probe_episode(name))
            assert client.act(probe_observation("a", 1)).actions[0] == 1
            chunks = client.act_batch((probe_observation("b", 2), probe_observation("a", 3)))
            assert [chunk.actions[0] for chunk in chunks] == [2, 3]
            client.end_episode("a")
            client.unload()
        assert [hook for hook, _ in probe.calls] == [
            *("load", "reset", "reset", "act", "act_batch", "end_episode", "end_episode", "unload")
        ]

    def test_one_connection_serves_all_calls(self, asking: PolicyClient, scripted: ScriptedServer) -> None:
        scripted.answer = lambda number, request: chunk(request.id)
        for step in range(5):
            asking.act(probe_observation("a", step))
        assert [request.id for request in scripted.requests] == [1, 2, 3, 4, 5]

    def test_a_failure_says_what_and_where(self, client: PolicyClient, probe: ProbePolicy) -> None:
        client.reset(probe_episode("a"))
        with pytest.raises(PolicyRemoteError, match="told to raise in act") as caught:
            client.act(probe_observation("a", 0, "raise"))
        error = caught.value
        assert isinstance(error, (ProctorError, RuntimeError))
        assert (error.operation, error.error_type, error.state) == ("act", "ValueError", PolicyState.READY)
        assert error.remote_message == "act() raised ValueError: told to raise in act"
        assert error.error_id in error.remote_traceback
        assert "Traceback" not in error.remote_traceback

    def test_close_may_be_called_again_and_calls_reconnect(self, client: PolicyClient) -> None:
        client.reset(probe_episode("a"))
        client.close()
        client.close()
        client.reset(probe_episode("a"))
        assert client.act(probe_observation("a", 1)).actions[0] == 1


class TestRemoteErrors:
    @pytest.mark.parametrize(
        ("code", "fault"),
        [
            ("refused", RequestRefusedError),
            ("policy_raised", PolicyRaisedError),
            ("invalid_action", InvalidActionError),
            ("load_failed", PolicyLoadError),
            ("policy_gone", PolicyGoneError),
        ],
    )
    def test_each_code_is_a_class_of_the_tree(self, code: m.FailureCode, fault: type[ProctorError]) -> None:
        error = PolicyRemoteError("act", m.Failed(1, code, "ValueError", "no", "ab12", "ready"))
        assert type(error.fault()) is fault
        assert str(error.fault()) == "no [error ab12]"


class TestLateness:
    def test_a_late_answer_is_dropped_and_counted(self, client: PolicyClient, probe: ProbePolicy) -> None:
        client.reset(probe_episode("a"))
        client.timeout_s = HASTY_S
        with pytest.raises(DeadlineError):
            client.act(probe_observation("a", 1, "wait"))
        client.timeout_s = PATIENT_S
        probe.release.set()
        assert client.act(probe_observation("a", 2)).actions[0] == 2
        assert client.late_replies == 1
        assert client.act(probe_observation("a", 3)).actions[0] == 3
        assert client.late_replies == 1

    def test_answers_to_others_are_never_used(self, asking: PolicyClient, scripted: ScriptedServer) -> None:
        scripted.answer = lambda number, request: chunk(99) + chunk(0) + chunk(request.id)
        assert asking.act(probe_observation("a")).actions[0] == 1
        assert asking.late_replies == 2

    def test_late_answers_do_not_move_the_deadline(
        self, asking: PolicyClient, scripted: ScriptedServer
    ) -> None:
        scripted.answer = lambda number, request: chunk(99)
        asking.timeout_s = HASTY_S
        begun = time.monotonic()
        with pytest.raises(DeadlineError):
            asking.act(probe_observation("a"))
        assert HASTY_S <= time.monotonic() - begun < HASTY_S + 0.05

    def test_half_an_answer_does_not_move_the_deadline(
        self, asking: PolicyClient, scripted: ScriptedServer
    ) -> None:
        scripted.answer = lambda number, request: chunk(request.id)[:-1]
        asking.timeout_s = HASTY_S
        with pytest.raises(DeadlineError):
            asking.act(probe_observation("a"))

    def test_a_count_survives_its_connection(self, asking: PolicyClient, scripted: ScriptedServer) -> None:
        scripted.answer = lambda number, request: chunk(99) + chunk(request.id)
        asking.act(probe_observation("a"))
        asking.close()
        assert asking.late_replies == 1

    def test_a_server_that_takes_nothing_is_late(
        self, asking: PolicyClient, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(asking._writer, "inline", True)
        ready = threading.Event()

        def stall(number: int, request: m.ToServer) -> bytes:
            ready.wait(PATIENT_S)
            return b""

        scripted.answer = stall
        asking.timeout_s = HASTY_S
        large = probe_observation("a")
        large.features["state.contact"] = np.zeros(8 << 20, bool)
        with pytest.raises(DeadlineError):
            asking.end_episode("a")
        with pytest.raises(DeadlineError, match="did not take a request"):
            asking.act(large)
        ready.set()

    def test_who_greets_late_is_waited_for_as_long_as_the_answer_would_be(
        self, scripted: ScriptedServer, path: Path
    ) -> None:
        """A policy that holds the interpreter lock holds up the greeting of its server too."""
        scripted.may_greet.clear()
        scripted.answer = lambda number, request: encode_frame(m.Done(request.id))
        with PolicyClient(path, HASTY_S) as client:
            threading.Timer(2 * HASTY_S, scripted.may_greet.set).start()
            client.reset(probe_episode("a"), PATIENT_S)


class TestNobodyThere:
    def test_no_socket(self, path: Path) -> None:
        with pytest.raises(PolicyGoneError, match="no policy server: No such file"):
            PolicyClient(path).connect()

    def test_a_socket_that_nobody_listens_on(self, path: Path) -> None:
        address.listen(path).close()
        with pytest.raises(PolicyGoneError, match="no policy server: Connection refused"):
            PolicyClient(path).health()

    def test_waiting_ends(self, path: Path) -> None:
        with pytest.raises(DeadlineError, match=r"no policy server within 0\.01 s: .*No such file"):
            PolicyClient(path).wait_until_ready(0.01)

    def test_waiting_is_rewarded(self, path: Path, probe: ProbePolicy) -> None:
        servers: list[PolicyServer] = []

        def start() -> None:
            servers.append(PolicyServer(probe, path).__enter__())

        timer = threading.Timer(0.02, start)
        timer.start()
        with PolicyClient(path) as client:
            assert client.wait_until_ready(PATIENT_S).state is PolicyState.CREATED
        timer.join()
        servers[0].close()

    def test_a_connection_that_ends(self, asking: PolicyClient, scripted: ScriptedServer) -> None:
        for ask in (lambda: asking.act(probe_observation("a")), asking.health):
            with pytest.raises(PolicyGoneError):
                ask()
            with pytest.raises(PolicyGoneError):
                ask()

    def test_a_server_that_leaves(self, asking: PolicyClient, scripted: ScriptedServer) -> None:
        scripted.answer = lambda number, request: encode_frame(m.Closing("leaving", "bye"))
        with pytest.raises(PolicyGoneError, match="the server closed the connection: bye"):
            asking.act(probe_observation("a"))

    def test_the_next_call_finds_the_server_that_came_back(self, path: Path) -> None:
        client = PolicyClient(path, PATIENT_S)
        for step in range(2):
            with PolicyServer(ProbePolicy(), path):
                client.wait_until_ready(PATIENT_S)
                client.load(probe_context())
                client.reset(probe_episode("a"))
                assert client.act(probe_observation("a", step)).actions[0] == step
            with pytest.raises(PolicyGoneError):
                client.act(probe_observation("a"))
            with pytest.raises(PolicyGoneError):
                client.health()
        client.close()


NONSENSE: dict[str, Answer] = {
    "no message": lambda number, request: struct.pack("<II", 3, 0) + b"abc",
    "oversize": lambda number, request: struct.pack("<II", 1 << 30, 0),
    "a request": lambda number, request: encode_frame(m.EndRequest(1, "a", "")),
    "a second greeting": lambda number, request: GREETING,
    "another answer": lambda number, request: encode_frame(m.Done(request.id)),
    "a state that is none": lambda number, request: encode_frame(
        m.Failed(request.id, "refused", "E", "no", "", PolicyState.READY)
    ).replace(b"ready", b"rueda"),
    "protocol error": lambda number, request: encode_frame(m.Closing("protocol", "nonsense")),
    "a forbidden dtype": lambda number, request: encode_frame(
        m.Chunk(request.id, m.ChunkForm("O", (1,))), bytes(8)
    ),
    "too few bytes": lambda number, request: encode_frame(m.Chunk(request.id, ACTION[0]), b"1234"),
    "too many bytes": lambda number, request: encode_frame(m.Chunk(request.id, ACTION[0]), bytes(16)),
}


class TestNonsense:
    @pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE.keys())
    def test_nonsense_is_a_protocol_error_and_the_next_call_succeeds(
        self, asking: PolicyClient, scripted: ScriptedServer, answer: Answer
    ) -> None:
        scripted.answer = answer
        with pytest.raises(ProtocolError):
            asking.act(probe_observation("a"))
        scripted.answer = lambda number, request: chunk(request.id)
        assert asking.act(probe_observation("a")).actions[0] == 1

    @pytest.mark.parametrize(("shape", "size"), [((1, 1, 3), 12), ((0, 3), 0), ((), 4)])
    def test_actions_that_are_no_chunk_are_invalid(
        self, asking: PolicyClient, scripted: ScriptedServer, shape: tuple[int, ...], size: int
    ) -> None:
        form = m.ChunkForm("float32", shape)
        scripted.answer = lambda number, request: encode_frame(m.Chunk(request.id, form), bytes(size))
        with pytest.raises(InvalidActionError, match="ActionChunk"):
            asking.act(probe_observation("a"))

    @pytest.mark.parametrize("forms", [(), (ACTION[0],) * 2])
    def test_a_batch_must_be_answered_in_full(
        self, asking: PolicyClient, scripted: ScriptedServer, forms: tuple[m.ChunkForm, ...]
    ) -> None:
        scripted.answer = lambda number, request: encode_frame(
            m.Chunks(request.id, forms), ACTION[1] * len(forms)
        )
        with pytest.raises(ProtocolError, match=f"{len(forms)} chunks for 1 observations"):
            asking.act_batch((probe_observation("a"),))

    @pytest.mark.parametrize(
        "answer",
        [
            m.Description(1, {"name": "x"}, {}, "none", ""),
            m.Description(1, PROBE_SPEC.to_dict(), {"supported_benchmarks": 3}, "none", ""),
        ],
    )
    def test_a_description_that_is_none_is_a_protocol_error(
        self, asking: PolicyClient, scripted: ScriptedServer, answer: m.Description
    ) -> None:
        scripted.answer = lambda number, request: encode_frame(answer)
        with pytest.raises(ProtocolError, match="not understood"):
            asking.describe()

    @pytest.mark.parametrize(
        ("greeting", "problem"),
        [
            (encode_frame(m.Greeting("proctor.local/9", "9", "ready")), "speaks 'proctor.local/9'"),
            (encode_frame(m.Done(1)), "speaks 'Done'"),
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", "frame of"),
        ],
    )
    def test_another_server_is_named(self, path: Path, greeting: bytes, problem: str) -> None:
        server = ScriptedServer(path, greeting)
        with pytest.raises(ProtocolError, match=problem), PolicyClient(path) as client:
            client.wait_until_ready(PATIENT_S)
        server.close()

    def test_a_server_of_another_user_is_refused(
        self, scripted: ScriptedServer, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("proctor.wire.local.channel.same_user", lambda sock: False)
        with pytest.raises(ProtocolError, match="the server belongs to user"):
            PolicyClient(path).connect()

    def test_what_cannot_travel_is_refused_here(self, asking: PolicyClient, scripted: ScriptedServer) -> None:
        odd = probe_observation("a")
        odd.features["state.pose"] = np.zeros(3, ">f4")
        with pytest.raises(RequestRefusedError, match=r"feature 'state\.pose': dtype '>f4' does not travel"):
            asking.act(odd)
        assert scripted.requests == []

    def test_more_than_a_frame_is_refused_here(
        self, asking: PolicyClient, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scripted.answer = lambda number, request: chunk(request.id)
        with pytest.raises(ProtocolError, match="at most"):
            asking.act(probe_observation("a", 0, "x" * (1 << 21)))
        assert asking.act(probe_observation("a")).actions[0] == 1


def test_nothing_is_left_open(path: Path, descriptors: Callable[[], set[Any]]) -> None:
    before = descriptors()
    with PolicyServer(ProbePolicy(), path), PolicyClient(path, PATIENT_S) as client:
        client.load(probe_context())
        client.reset(probe_episode("a"))
        client.act(probe_observation("a"))
    assert descriptors() == before
