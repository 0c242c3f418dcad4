"""How a run speaks to its policy: options that only a running server takes, and what follows for the run."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from proctor.errors import UnknownNameError, UsageError
from proctor.launch.accounting import plan_conditions
from proctor.launch.planning import EvaluationPlan, make_plan
from proctor.launch.policies import ClassPolicy, RunningPolicy, policy_record, policy_source
from proctor.launch.request import EvaluationRequest
from proctor.launch.servers import ForeignServer
from proctor.launch.settings import run_settings, session_context
from proctor.launch.wires import told, wire_of
from proctor.policy import PolicyCapabilities
from proctor.testing.toy_policies import MoodyPolicy
from proctor.wire.mapping import Mapping
from proctor.wire.opening import LOCAL, Wire
from proctor.wire.presets import PRESETS
from proctor.wire.session import SessionDescription

from .conftest import PIXELS

TOKEN = "correct-horse-battery"
FOREIGN = SessionDescription(
    dialect="openpi",
    endpoint="ws://127.0.0.1:1",
    capabilities=PolicyCapabilities(supported_benchmarks=("toy",), required_features=()),
    action_representation="toy.velocity-v1",
    action_representation_source="benchmark_default",
    mapping="canonical",
    cannot=("seed",),
)


def plan(policy: str = "ws://127.0.0.1:1", **options: Any) -> EvaluationPlan:
    return make_plan(EvaluationRequest(policy=policy, benchmark="toy-v1", name="run", **options))


@pytest.mark.parametrize(
    "address",
    ["http://host:80", "https://host", "ws://host:1", "host:8000", "[::1]:8000", "10.0.0.7:8000",
     "vla-eval+ws://host:1", "xvla+http://host:1", "unix:/a.sock"],
)  # fmt: skip
def test_addresses_of_running_servers(address: str) -> None:
    assert policy_source(address) == RunningPolicy(address)


@pytest.mark.parametrize("spec", ["my.py:Mine", "package.module:Mine", "http.py:Server", "localhost:Mine"])
def test_classes_are_no_addresses(spec: str) -> None:
    assert policy_source(spec) == ClassPolicy(spec)


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("htp://host:80", "did you mean 'http'"),
        ("http://user:hunter2@host", "secrets and parameters do not belong"),
        ("http://host:80?token=hunter2", "secrets and parameters do not belong"),
        ("host:99999", "from 1 to 65535"),
    ],
)
def test_an_address_that_is_none(address: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        policy_source(address)
    assert "hunter2" not in str(caught.value)


@pytest.mark.usefixtures("toy_benchmark")
class TestOptions:
    @pytest.mark.parametrize("option", ["dialect", "mapping", "token_file", "ca_file"])
    def test_are_those_of_a_running_server(self, option: str) -> None:
        value = "openpi" if option == "dialect" else "canonical"
        with pytest.raises(UsageError, match=f"{option}: only the address of a running server takes one"):
            plan(PIXELS, **{option: value})

    def test_a_process_file_may_name_its_dialect(self, toy_benchmark: Path) -> None:
        (toy_benchmark / "policy.json").write_text(
            f'{{"schema_version": 1, "command": ["/bin/true"], "cwd": "{toy_benchmark}"}}'
        )
        named = wire_of(plan("policy.json", dialect="evostudio"))
        assert named is not None
        assert (named.dialect, named.mapping) == ("evostudio", None)
        assert wire_of(plan("policy.json")) is None  # found out once it listens

    def test_are_checked_before_anything_starts(self, toy_benchmark: Path) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'openpi'"):
            plan(dialect="openpie")
        with pytest.raises(UnknownNameError, match="did you mean 'canonical'"):
            plan(mapping="cannonical")
        (toy_benchmark / "token").write_text("short")
        (toy_benchmark / "token").chmod(0o600)
        with pytest.raises(UsageError, match="5 characters"):
            plan(token_file="token")

    @pytest.mark.parametrize("policy", ["unix:/a.sock", "ws://127.0.0.1:1", MoodyPolicy()])
    def test_what_is_there_once_is_not_served_twice(self, policy: Any) -> None:
        with pytest.raises(UsageError, match=r"replicas 2: a .* is one"):
            plan(policy, replicas=2)

    def test_a_token_is_shown_nowhere(self, toy_benchmark: Path) -> None:
        (toy_benchmark / "token").write_text(TOKEN)
        (toy_benchmark / "token").chmod(0o600)
        made = plan(token_file="token", mapping="canonical", ca_file="ca.pem")
        assert (made.access.token, made.access.ca_file) == (TOKEN, "ca.pem")
        assert TOKEN not in f"{made!r} {made}"
        assert "mapping canonical" in str(made)


@pytest.mark.usefixtures("toy_benchmark")
class TestWire:
    def test_our_own_server_needs_no_telling(self) -> None:
        assert wire_of(plan(PIXELS)) is LOCAL

    def test_what_is_told(self) -> None:
        wire = wire_of(plan(dialect="openpi", mapping="canonical"))
        assert wire is not None
        assert told(wire) == ("the policy server is taken for openpi (as --dialect says), mapping canonical")

    def test_a_server_that_is_not_there_is_the_users_mistake(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            endpoint = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"policy {endpoint}: no connection: "):
            wire_of(plan(endpoint))
        with pytest.raises(UsageError, match=f"policy '{endpoint}': no server listens there"):
            ForeignServer(endpoint).start()

    def test_settings_and_conditions_carry_dialect_and_mapping(self) -> None:
        made, wire = plan(), Wire("openpi", PRESETS["canonical"])
        settings = run_settings(made, [FOREIGN], wire)
        assert (settings.dialect, settings.mapping) == ("openpi", PRESETS["canonical"])
        conditions = plan_conditions(policy_record(made.source, None), FOREIGN, wire)
        renamed = plan_conditions(
            policy_record(made.source, None),
            FOREIGN,
            Wire("openpi", replace(PRESETS["canonical"], name="mine")),
        )
        other = plan_conditions(
            policy_record(made.source, None), FOREIGN, Wire("openpi", PRESETS["openpi-libero"])
        )
        assert conditions == renamed != other

    def test_a_mapping_says_what_the_servers_numbers_mean(self) -> None:
        wire = Wire("openpi", Mapping(name="mine", action_representation="toy.position-v1"))
        with pytest.raises(UnknownNameError, match=r"toy\.velocity-v1"):
            session_context(plan(), 0, wire)

    def test_a_server_that_owns_the_chunk_decides_how_much_is_applied(self) -> None:
        owner = replace(FOREIGN, chunk_owner="server")
        assert run_settings(plan(), [owner]).execute_steps == "server-owned"
        with pytest.raises(UsageError, match="'fixed:2': with openpi the server decides"):
            run_settings(plan(execute_steps="fixed:2"), [owner])
