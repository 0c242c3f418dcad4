"""Every example server starts as it stands, and is conformant."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from proctor.cli.root import root
from proctor.policy import ActionSpec, BenchmarkSpec, FeatureKind, FeatureSpec

pytestmark = pytest.mark.process

SERVERS = Path(__file__).parents[2] / "examples" / "servers"
ALOHA = ("--benchmark", "aloha-sim-v1")
MAX_LINES = 85

DROID = BenchmarkSpec(
    name="droid",
    suite="all",
    protocol_version="droid-v1",
    features=(
        FeatureSpec("images.exterior", FeatureKind.IMAGE, dtype="uint8", shape=(224, 224, 3)),
        FeatureSpec("images.left_wrist", FeatureKind.IMAGE, dtype="uint8", shape=(224, 224, 3)),
        FeatureSpec("state.joint_position", FeatureKind.STATE, dtype="float32", shape=(7,)),
        FeatureSpec("state.gripper_position", FeatureKind.STATE, dtype="float32", shape=(1,)),
        FeatureSpec("language.instruction", FeatureKind.LANGUAGE),
    ),
    action=ActionSpec("droid.joint_position-v1", dimension=8),
    supported_action_representations=("droid.joint_position-v1",),
    default_action_representation="droid.joint_position-v1",
)

OVER_TCP = {
    "episode_http.py": ("http://", ()),
    "chunk_ws.py": ("", ()),
    "openpi_server.py": ("", (*ALOHA, "--mapping", "openpi-aloha")),
    "roboarena.py": ("", ("--benchmark", "droid.json")),
    "starvla.py": ("", ALOHA),
    "vla_eval.py": ("vla-eval+ws://", (*ALOHA, "--mapping", str(SERVERS / "vla_eval.toml"))),
    "xvla.py": ("xvla+http://", (*ALOHA, "--mapping", "xvla-robotwin")),
}
"""Scheme and further arguments by the server's file."""


@contextmanager
def running(*command: str | Path) -> Iterator[None]:
    """A server in a process of its own."""
    with subprocess.Popen([sys.executable, *map(str, command)], cwd=SERVERS) as process:
        try:
            yield
        finally:
            process.terminate()


def await_listener(family: socket.AddressFamily, address: tuple[str, int] | str) -> None:
    deadline = time.monotonic() + 20
    while True:
        with socket.socket(family) as probe:
            if not probe.connect_ex(address):
                return
        assert time.monotonic() < deadline, f"nobody listens at {address}"
        time.sleep(0.05)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def check(*arguments: str) -> str:
    """What the command prints; it must end with 0."""
    result = CliRunner().invoke(root, ["bench", "check-server", *arguments], standalone_mode=False)
    if result.exception:
        raise result.exception
    assert result.return_value == 0, result.output
    return result.output


def test_every_example_is_tested_and_small() -> None:
    files = {path.name: len(path.read_text().splitlines()) for path in SERVERS.glob("*.py")}
    assert set(files) == {*OVER_TCP, "local.py", "evostudio.py", "msgpack_numpy.py"}
    assert max(files.values()) <= MAX_LINES


@pytest.mark.parametrize("name", OVER_TCP)
def test_a_server_on_a_port_is_conformant(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme, arguments = OVER_TCP[name]
    monkeypatch.chdir(tmp_path)
    Path("droid.json").write_text(json.dumps(DROID.to_dict()))
    port = free_port()
    with running(name, "--port", str(port)):
        await_listener(socket.AF_INET, ("127.0.0.1", port))
        url = f"{scheme}127.0.0.1:{port}"
        verdict = check("--policy", url, *arguments).splitlines()[-1]
    assert verdict.startswith(f"{url}: conformant (")


@pytest.mark.parametrize("name", ["local.py", "evostudio.py"])
def test_a_server_on_a_socket_is_conformant(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with running(name, "--socket", path):
        await_listener(socket.AF_UNIX, path)
        assert f"unix:{path}: conformant (" in check("--policy", f"unix:{path}", *ALOHA)


def test_the_episode_server_guards_its_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-token-of-some-length")
    token.chmod(0o600)
    port = free_port()
    with running("episode_http.py", "--port", str(port), "--token-file", token):
        await_listener(socket.AF_INET, ("127.0.0.1", port))
        output = check("--policy", f"http://127.0.0.1:{port}", "--token-file", str(token))
    assert "token: init, step and finalize answer 401 to a wrong token and to none" in output
