"""How a policy server's address is written."""

from __future__ import annotations

import pytest

from proctor.errors import UnknownNameError, UsageError
from proctor.wire.endpoint import parse_endpoint


@pytest.mark.parametrize(
    ("text", "scheme", "url"),
    [
        ("http://10.0.0.5:8080", "http", "http://10.0.0.5:8080"),
        ("https://robots.example/policy/", "https", "https://robots.example:443/policy"),
        ("ws://127.0.0.1:8000", "ws", "ws://127.0.0.1:8000"),
        ("127.0.0.1:8000", "ws", "ws://127.0.0.1:8000"),
        ("gpu-3:8000", "ws", "ws://gpu-3:8000"),
        ("ws://[::1]:8000", "ws", "ws://[::1]:8000"),
        ("vla-eval+ws://gpu:9", "vla-eval+ws", "ws://gpu:9"),
        ("xvla+https://gpu", "xvla+https", "https://gpu:443"),
    ],
)
def test_an_address_is_taken_apart(text: str, scheme: str, url: str) -> None:
    endpoint = parse_endpoint(text)
    assert (endpoint.scheme, endpoint.url, endpoint.text) == (scheme, url, text)


def test_a_socket_has_a_path() -> None:
    endpoint = parse_endpoint("unix:/run/policy")
    assert (endpoint.scheme, endpoint.path, endpoint.is_loopback) == ("unix", "/run/policy", True)


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.2", True), ("localhost", True), ("10.0.0.1", False)]
)
def test_loopback_is_known(host: str, loopback: bool) -> None:
    assert parse_endpoint(f"ws://{host}:1").is_loopback is loopback


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unix:relative", "needs an absolute path"),
        ("gpu-3", "names no port; write host:port"),
        ("ws://", "names no host"),
        ("ws://gpu:99999", "the port must be a number from 1 to 65535"),
        ("http://user:secret@gpu:1", "secrets and parameters do not belong in an address"),
        ("http://gpu:1/?token=secret", "secrets and parameters do not belong in an address"),
    ],
)
def test_a_wrong_address_is_explained(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        parse_endpoint(text)
    assert "secret@" not in str(raised.value)
    assert "token=" not in str(raised.value)


def test_an_unknown_scheme_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown endpoint scheme 'htps'; did you mean 'https'"):
        parse_endpoint("htps://gpu")
