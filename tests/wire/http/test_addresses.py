"""What may be spoken to without TLS."""

from __future__ import annotations

import socket

import pytest

from proctor.errors import UsageError
from proctor.wire.endpoint import parse_endpoint
from proctor.wire.http import addresses
from proctor.wire.http.addresses import find_addresses, is_private

PRIVATE = ["127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.9", "169.254.0.1", "::1", "fd00::1", "fe80::1%2"]
PUBLIC = ["8.8.8.8", "172.32.0.1", "100.64.0.1", "192.0.2.1", "2001:db8::1", "64:ff9b::7f00:1", "0.0.0.0"]


@pytest.mark.parametrize("address", [*PRIVATE, "::ffff:10.0.0.1"])
def test_addresses_of_ones_own_networks(address: str) -> None:
    assert is_private(address)


@pytest.mark.parametrize("address", [*PUBLIC, "::ffff:8.8.8.8"])
def test_all_others_are_public(address: str) -> None:
    assert not is_private(address)


@pytest.mark.parametrize("scheme", ["http", "ws", "xvla+http"])
def test_a_public_address_needs_tls(scheme: str) -> None:
    with pytest.raises(
        UsageError, match=rf"8\.8\.8\.8 is a public address.*Use {scheme.replace('+', '.')}s://"
    ):
        find_addresses(parse_endpoint(f"{scheme}://8.8.8.8:80"))


def test_with_tls_it_is_fine() -> None:
    ((family, address),) = find_addresses(parse_endpoint("https://8.8.8.8:443"))
    assert (family, address) == (socket.AF_INET, ("8.8.8.8", 443))


def test_one_public_address_of_a_name_is_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [(socket.AF_INET, 0, 0, "", (host, 80)) for host in ("10.0.0.1", "8.8.8.8")]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *args, **kwargs: both)
    with pytest.raises(UsageError, match=r"8\.8\.8\.8"):
        find_addresses(parse_endpoint("http://two-faced:80"))
