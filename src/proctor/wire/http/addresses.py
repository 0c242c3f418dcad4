"""Which addresses a host has, and which of them may be spoken to without TLS."""

from __future__ import annotations

import socket
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Final

from proctor.errors import UsageError
from proctor.wire.endpoint import Endpoint

PRIVATE: Final = tuple(
    ip_network(text)
    for text in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
        *("::1/128", "fc00::/7", "fe80::/10"),
    )
)
"""Loopback, private and link-local networks: what is sent there does not cross the internet."""

Found = tuple[socket.AddressFamily, Any]
"""An address as `socket.connect` takes it, with its family."""


def find_addresses(endpoint: Endpoint) -> tuple[Found, ...]:
    """Every address of the endpoint's host.

    Raises `UsageError` where one of them is public and the endpoint is not TLS, `OSError` where the name
    is not known. Asked before every connection, so that a name that moves is looked at again.
    """
    known = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    found = tuple((family, address) for family, _, _, _, address in known)
    if not endpoint.url.startswith(("https:", "wss:")):
        for _, address in found:
            _check_private(endpoint, str(address[0]))
    return found


def is_private(address: str) -> bool:
    """Whether an IP address is on this machine or on a network of its owner."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in PRIVATE)


def _check_private(endpoint: Endpoint, address: str) -> None:
    if not is_private(address):
        raise UsageError(
            f"{endpoint.text}: {address} is a public address; observations and tokens do not go there in the"
            f" clear. Use {endpoint.scheme}s://, or a tunnel to a loopback address"
        )
