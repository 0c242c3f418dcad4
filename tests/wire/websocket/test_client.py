"""Connecting, sending and receiving within deadlines, and what every way of failing is called."""

from __future__ import annotations

import socket
import struct
import threading
import time
from pathlib import Path

import pytest
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.sync.server import ServerConnection

from proctor.errors import (
    AccessDeniedError,
    DeadlineError,
    InvalidActionError,
    PolicyGoneError,
    PolicyRaisedError,
    ProctorError,
    ProtocolError,
    RequestRefusedError,
    UsageError,
)
from proctor.wire.dialect import Access
from proctor.wire.endpoint import Endpoint, parse_endpoint
from proctor.wire.websocket.client import WebSocketClient

from .servers import bare, read_request, scripted, server_tls, unused_port

CERTIFICATES = Path(__file__).parents[1] / "http" / "data"


def connect(
    endpoint: Endpoint, *, timeout_s: float = 5.0, max_bytes: int = 1 << 20, **access: str
) -> WebSocketClient:
    return WebSocketClient(endpoint, Access(**access), max_bytes=max_bytes, timeout_s=timeout_s)


def echo(websocket: ServerConnection) -> None:
    for message in websocket:
        websocket.send(message)


class TestMessages:
    def test_bytes_and_text_come_as_they_are_sent(self) -> None:
        with scripted(lambda websocket: [websocket.send(m) for m in (b"\x00\xff", "text")]) as endpoint:
            client = connect(endpoint)
            assert [client.receive(5), client.receive(5)] == [b"\x00\xff", "text"]
            client.close()
            client.close()

    def test_a_message_may_be_larger_than_the_librarys_default(self) -> None:
        with scripted(echo, max_size=None) as endpoint:
            client = connect(endpoint, max_bytes=4 << 20)
            client.send(bytearray(3 << 20), 5)
            assert len(client.receive(5)) == 3 << 20
            client.close()

    def test_no_compression_is_offered_and_the_token_travels_in_a_header(self) -> None:
        seen: list[Request] = []

        def note(websocket: ServerConnection) -> None:
            assert websocket.request is not None
            seen.append(websocket.request)

        with scripted(note) as endpoint:
            connect(endpoint, token="s3cret").close()
        (request,) = seen
        assert request.headers["Authorization"] == "Bearer s3cret"
        assert "Sec-WebSocket-Extensions" not in request.headers
        assert "s3cret" not in request.path

    def test_a_proxy_of_the_environment_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port()}")
        with scripted(echo) as endpoint:
            connect(endpoint).close()

    def test_pings_are_answered_while_nobody_receives(self) -> None:
        answered = threading.Event()

        def ping(websocket: ServerConnection) -> None:
            if websocket.ping().wait(5):
                answered.set()

        with scripted(ping) as endpoint:
            client = connect(endpoint)
            assert answered.wait(5)
            client.close()


class TestDeadlines:
    def test_a_silent_server_is_given_up_at_the_deadline(self) -> None:
        with scripted(_ignore) as endpoint:
            client = connect(endpoint)
            began = time.monotonic()
            with pytest.raises(DeadlineError, match="did not answer within"):
                client.receive(0.1)
            assert 0.1 <= time.monotonic() - began < 0.5

    def test_after_a_deadline_the_connection_is_never_used_again(self) -> None:
        with scripted(_ignore) as endpoint:
            client = connect(endpoint)
            with pytest.raises(DeadlineError):
                client.receive(0.01)
            with pytest.raises(PolicyGoneError):
                client.receive(1)

    def test_a_server_that_does_not_read_is_given_up_at_the_deadline(self) -> None:
        def stall(sock: socket.socket) -> None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            _accept(sock)
            done.wait(5)

        done = threading.Event()
        with bare(stall) as endpoint:
            client = connect(endpoint)
            began = time.monotonic()
            with pytest.raises(DeadlineError, match="took no request"):
                client.send(bytes(32 << 20), 0.1)
            assert time.monotonic() - began < 2
            done.set()

    def test_a_server_that_does_not_shake_hands(self) -> None:
        done = threading.Event()
        with bare(lambda sock: _wait(done)) as endpoint:
            with pytest.raises(DeadlineError, match="no handshake within"):
                connect(endpoint, timeout_s=0.1)
            done.set()


class TestUnreachable:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    def test_nobody_listens(self, host: str) -> None:
        with pytest.raises(PolicyGoneError, match="no connection"):
            connect(parse_endpoint(f"ws://{host}:{unused_port()}"))

    def test_a_name_that_is_none(self) -> None:
        with pytest.raises(PolicyGoneError):
            connect(parse_endpoint("ws://no-such-host.invalid:1"))

    def test_a_server_that_closes_in_the_handshake(self) -> None:
        with bare(lambda sock: None) as endpoint, pytest.raises(PolicyGoneError, match="in the handshake"):
            connect(endpoint)

    def test_a_server_that_resets_in_a_message(self) -> None:
        def reset(sock: socket.socket) -> None:
            _accept(sock)
            sock.sendall(b"\x82\x7e\x10\x00half a frame")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        with bare(reset) as endpoint:
            client = connect(endpoint)
            with pytest.raises(PolicyGoneError):
                client.receive(5)


class TestNoWebSocket:
    def test_what_is_no_http(self) -> None:
        with (
            bare(_greet_like_ssh) as endpoint,
            pytest.raises(
                ProtocolError, match=r"no WebSocket server; .* HTTP episode protocol, write http://"
            ),
        ):
            connect(endpoint)

    @pytest.mark.parametrize(
        ("status", "error", "said"),
        [
            (200, ProtocolError, "HTTP 200"),
            (404, ProtocolError, "HTTP 404"),
            (302, ProtocolError, "redirects are not followed"),
            (401, AccessDeniedError, "refuses the token"),
            (403, AccessDeniedError, "refuses the token"),
            (503, PolicyGoneError, "no more connections"),
        ],
    )
    def test_another_status(self, status: int, error: type[ProctorError], said: str) -> None:
        def answer(connection: ServerConnection, request: Request) -> Response:
            response = connection.respond(status, "")
            response.headers["Location"] = f"ws://127.0.0.1:{port}/"
            return response

        with scripted(echo) as elsewhere:
            port = elsewhere.port
            with (
                scripted(echo, process_request=answer) as endpoint,
                pytest.raises(error, match=said) as refused,
            ):
                connect(endpoint, token="s3cret")
        assert "s3cret" not in str(refused.value)

    @pytest.mark.parametrize("status", [401, 403, 404])
    def test_what_may_be_a_server_of_http_is_told_how_it_is_addressed(self, status: int) -> None:
        """uvicorn answers 403 to a WebSocket at a path that has none."""
        with (
            scripted(echo, process_request=lambda connection, _: connection.respond(status, "")) as endpoint,
            pytest.raises(ProctorError, match=f"HTTP episode protocol[^/]*http://127.0.0.1:{endpoint.port}"),
        ):
            connect(endpoint)


class TestTls:
    TLS = server_tls(str(CERTIFICATES / "certificate.pem"), str(CERTIFICATES / "key.pem"))

    def test_a_certificate_that_is_trusted(self) -> None:
        with scripted(echo, scheme="wss", ssl=self.TLS) as endpoint:
            client = connect(endpoint, ca_file=str(CERTIFICATES / "certificate.pem"))
            client.send(bytes(1 << 19), 5)
            assert len(client.receive(5)) == 1 << 19
            client.close()

    def test_a_certificate_that_is_not(self) -> None:
        with (
            scripted(echo, scheme="wss", ssl=self.TLS) as endpoint,
            pytest.raises(UsageError, match="not trusted"),
        ):
            connect(endpoint)

    def test_a_server_without_tls(self) -> None:
        with scripted(echo) as plain, pytest.raises((ProtocolError, PolicyGoneError)):
            connect(parse_endpoint(f"wss://127.0.0.1:{plain.port}"))

    def test_a_public_address_without_tls_is_refused(self) -> None:
        with pytest.raises(UsageError, match="public address"):
            connect(parse_endpoint("ws://192.0.2.1:1"))


class TestClosedByTheServer:
    @pytest.mark.parametrize(
        ("code", "reason", "error", "said"),
        [
            (1000, "", PolicyGoneError, "1000"),
            (1001, "going away", PolicyGoneError, "going away"),
            (1011, "", PolicyRaisedError, "its log says why"),
            (1011, "keepalive ping timeout", PolicyGoneError, "ping_interval=None"),
            (1008, "policy", RequestRefusedError, "1008"),
            (1013, "", PolicyGoneError, "1013"),
        ],
    )
    def test_a_code_has_a_meaning(self, code: int, reason: str, error: type[ProctorError], said: str) -> None:
        with scripted(lambda websocket: websocket.close(code, reason)) as endpoint:
            client = connect(endpoint)
            with pytest.raises(error, match=said):
                client.receive(5)

    def test_text_before_the_close_is_still_read(self) -> None:
        def fail(websocket: ServerConnection) -> None:
            websocket.send("Traceback ...")
            websocket.close(1011)

        with scripted(fail) as endpoint:
            client = connect(endpoint)
            assert client.receive(5) == "Traceback ..."
            with pytest.raises(PolicyRaisedError):
                client.receive(5)

    def test_the_one_mebibyte_trap_is_named_with_its_mend(self) -> None:
        with scripted(echo) as endpoint:
            client = connect(endpoint)
            with pytest.raises(ProtocolError, match=r"1500000 bytes is too large .* max_size=None"):
                _exchange(client, bytes(1_500_000))

    def test_a_server_with_a_lower_limit_is_not_said_to_have_the_default(self) -> None:
        with scripted(echo, max_size=1000) as endpoint:
            client = connect(endpoint)
            with pytest.raises(ProtocolError) as refused:
                _exchange(client, bytes(2000))
            assert "1 MiB" not in str(refused.value)


class TestClosedByUs:
    def test_a_reply_that_is_too_large_concerns_the_action(self) -> None:
        with scripted(lambda websocket: websocket.send(bytes(2000))) as endpoint:
            client = connect(endpoint, max_bytes=1000)
            with pytest.raises(InvalidActionError, match="over 1000 bytes"):
                client.receive(5)

    def test_frames_that_are_none(self) -> None:
        def junk(sock: socket.socket) -> None:
            _accept(sock)
            sock.sendall(b"\xff" * 100)

        with bare(junk) as endpoint:
            client = connect(endpoint)
            with pytest.raises(ProtocolError, match="broke the WebSocket protocol"):
                client.receive(5)


FLOODS = {
    "messages": (b"", b"\x82\x00"),
    "pings": (b"", b"\x89\x7d" + bytes(125)),
    "pieces of a message": (b"\x02\x00", b"\x00\x00"),
}
"""What a server that never stops talking says first, and what it goes on with."""


@pytest.mark.parametrize("flood", sorted(FLOODS))
def test_a_server_that_never_stops_talking_is_left_in_time(flood: str) -> None:
    first, more = FLOODS[flood]

    def talk(sock: socket.socket) -> None:
        _accept(sock)
        sock.sendall(first)
        while True:
            sock.sendall(more * 1000)

    began = time.monotonic()
    with bare(talk) as endpoint:
        client = connect(endpoint)
        with pytest.raises((ProtocolError, DeadlineError)):
            _receive_for_ever(client)
    assert time.monotonic() - began < 3


def _receive_for_ever(client: WebSocketClient) -> None:
    while True:
        client.receive(0.2)


def _greet_like_ssh(sock: socket.socket) -> None:
    read_request(sock)
    sock.sendall(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")


def _exchange(client: WebSocketClient, message: bytes) -> None:
    client.send(message, 5)
    client.receive(5)


def _ignore(websocket: ServerConnection) -> None:
    for _ in websocket:
        pass


def _wait(event: threading.Event) -> None:
    event.wait(5)


def _accept(sock: socket.socket) -> None:
    """Shake hands by hand."""
    protocol = ServerProtocol()
    protocol.receive_data(read_request(sock))
    (request,) = protocol.events_received()
    assert isinstance(request, Request)
    protocol.send_response(protocol.accept(request))
    for data in protocol.data_to_send():
        sock.sendall(data)
