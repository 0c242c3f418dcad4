"""From an endpoint to a conversation: the one place that knows which dialects there are."""

from __future__ import annotations

import time
from typing import Final

from proctor.errors import PolicyGoneError, PolicyLoadError, UnknownNameError, UsageError
from proctor.limits import HEALTH_TIMEOUT_S
from proctor.policy.context import SessionContext
from proctor.policy.lifecycle import PolicyState
from proctor.policy.negotiation import negotiate_policy_action_contract
from proctor.policy.spec import BenchmarkSpec
from proctor.wire.local.client import PolicyClient
from proctor.wire.local.messages import PROTOCOL
from proctor.wire.local.remote import PolicyRemoteError
from proctor.wire.local.session import LocalSession
from proctor.wire.session import PolicySession, SessionDescription

SCHEMES: Final = ("unix",)
"""Ways to reach a policy server: `unix:/path/to/socket`."""


def prepare(endpoint: str, context: SessionContext, *, timeout_s: float) -> SessionDescription:
    """Wait for the server, load its policy for this benchmark, and negotiate; once per replica.

    A server that has loaded the same benchmark already is taken as it is. Raises `UsageError` for an endpoint
    that is none, `DeadlineError` if waiting and loading take more than `timeout_s` seconds, `PolicyLoadError`
    where loading failed or what was loaded does not fit, `PolicyGoneError`, `ProtocolError`.
    """
    deadline = time.monotonic() + timeout_s
    with _client(endpoint, HEALTH_TIMEOUT_S) as client:
        health = client.wait_until_ready(timeout_s)
        if health.state is PolicyState.CREATED:
            _load(client, context, deadline - time.monotonic())
        return _describe(client, endpoint, context.benchmark)


def open_session(endpoint: str, benchmark: BenchmarkSpec, *, act_timeout_s: float) -> PolicySession:
    """A worker's conversation with a prepared server; one act takes at most `act_timeout_s` seconds.

    Nothing is loaded here: raises `PolicyGoneError` while no policy is loaded yet, else as `prepare` does.
    """
    client = _client(endpoint, act_timeout_s)
    try:
        return LocalSession(client, benchmark, _describe(client, endpoint, benchmark))
    except BaseException:
        client.close()
        raise


def _client(endpoint: str, timeout_s: float) -> PolicyClient:
    scheme, separator, path = endpoint.partition(":")
    if not separator:
        raise UsageError(f"endpoint {endpoint!r} has no scheme; write unix:/path/to/socket")
    if scheme not in SCHEMES:
        raise UnknownNameError("endpoint scheme", scheme, SCHEMES)
    if not path.startswith("/"):
        raise UsageError(f"endpoint {endpoint!r} needs an absolute path: unix:/path/to/socket")
    return PolicyClient(path, timeout_s)


def _load(client: PolicyClient, context: SessionContext, timeout_s: float) -> None:
    try:
        client.load(context, max(timeout_s, HEALTH_TIMEOUT_S))
    except PolicyRemoteError as error:
        raise error.fault() from error


def _describe(client: PolicyClient, endpoint: str, benchmark: BenchmarkSpec) -> SessionDescription:
    loaded = client.describe()
    if loaded is None:
        state = client.health().state
        kind = PolicyLoadError if state is PolicyState.FAILED else PolicyGoneError
        raise kind(f"{endpoint}: no policy is loaded; the server is {state.value}")
    _check_same(endpoint, loaded.benchmark, benchmark)
    contract = negotiate_policy_action_contract(benchmark, loaded.capabilities)
    return SessionDescription(
        dialect=f"{PROTOCOL} (inline arrays)" if client.inline_arrays else PROTOCOL,
        endpoint=endpoint,
        capabilities=loaded.capabilities,
        action_representation=contract.action_representation,
        action_representation_source=contract.action_representation_source,
        batching=loaded.batching,
        seeds="used" if loaded.capabilities.uses_seed else "unused",
    )


def _check_same(endpoint: str, loaded: BenchmarkSpec, wanted: BenchmarkSpec) -> None:
    for field in ("name", "suite", "protocol_version", "action"):
        mine, theirs = getattr(wanted, field), getattr(loaded, field)
        if mine != theirs:
            raise PolicyLoadError(
                f"{endpoint}: the policy was loaded for another benchmark: {field} is {theirs}, not {mine}"
            )
