"""The socket protocol between proctor's own client and server keeps the rules of every dialect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.policy import Policy
from proctor.testing.dialects import PROBE_SPEC, DialectConformance, Open, Serve, probe_context
from proctor.wire.dialect import Access
from proctor.wire.endpoint import parse_endpoint
from proctor.wire.evostudio import DIALECT
from proctor.wire.evostudio.server import SERVER
from proctor.wire.exposure import Guard
from proctor.wire.serving import Address, ServedPolicy
from proctor.wire.session import PolicySession


@contextmanager
def serve_as_evostudio(policy: Policy, directory: Path) -> Iterator[Open]:
    served = ServedPolicy(policy)
    server = SERVER.start(served, Address(path=str(directory / "policy.sock")), Guard())
    endpoint = parse_endpoint(server.address)
    try:
        DIALECT.prepare(endpoint, probe_context(), None, Access(), timeout_s=10)
        yield lambda act_timeout_s: DIALECT.open_session(
            endpoint, PROBE_SPEC, None, Access(), act_timeout_s=act_timeout_s
        )
    finally:
        served.close()
        server.close()


class TestEvoStudio(DialectConformance):
    @pytest.fixture
    def serve(self, tmp_path: Path) -> Serve:
        return lambda policy: serve_as_evostudio(policy, tmp_path)

    def test_the_record_names_the_dialect_and_what_it_cannot(self, session: PolicySession) -> None:
        assert session.description.dialect == "evostudio/1"
        assert session.description.cannot == ("batch",)
