"""One policy, served to every dialect by `proctor serve`: where a wire loses nothing, nothing changes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import AccessDeniedError
from proctor.launch.evaluation import run_evaluation
from proctor.launch.request import Callbacks, EvaluationRequest
from proctor.results import Results
from proctor.testing.toy_versions import write_toy_version

from .conftest import PIXELS

pytestmark = pytest.mark.process

SERVE = [sys.executable, "-c", "from proctor.cli import main; main()", "serve"]

MAPPING = """
instruction = "prompt"
images = [{{ key = "image", feature = ["images.primary"], codec = "{codec}" }}]
states = [{{ key = "state", feature = ["state.proprioception"] }}]
"""

CASES: dict[str, str | None] = {
    "local": None,
    "evostudio": None,
    "episode-http": MAPPING.format(codec="png"),
    "chunk-ws": MAPPING.format(codec="raw"),
    "openpi": MAPPING.format(codec="raw"),
}
"""Dialect to its mapping; RoboArena's has no actions of two values."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working directory with `toy-v1` in it: 3 tasks of 2 episodes."""
    directory = tmp_path_factory.mktemp("dialects")
    write_toy_version(directory / "conf" / "benchmarks", episodes=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        yield directory


def evaluate(name: str, policy: str, say: list[str] | None = None, **options: Any) -> Results:
    request = EvaluationRequest(policy=policy, benchmark="toy-v1", name=name, workers=2, **options)
    return run_evaluation(request, Callbacks(say=[].append if say is None else say.append))


@pytest.fixture(scope="module")
def expected(place: Path) -> str:
    """What comes out when proctor serves the policy itself."""
    results = evaluate("managed", PIXELS, policy_args={"chunk": 10})
    assert results.summary.ledger.completed == 6
    return results.outcome_hash


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """Run `proctor serve`; yields the address that it printed."""
    command = [*SERVE, PIXELS, "--policy-arg", "chunk=10", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            line = child.stdout.readline()
            assert line, child.communicate()[1]
            yield line.split("--policy ")[1].split()[0]
        finally:
            child.terminate()
            _, log = child.communicate(timeout=30)
    assert child.returncode == 0, log


@pytest.mark.parametrize("dialect", sorted(CASES))
def test_the_same_outcomes_over_every_wire_that_loses_nothing(
    place: Path, expected: str, dialect: str
) -> None:
    mapping, said = CASES[dialect], list[str]()
    options: dict[str, Any] = {}
    arguments = ["--dialect", dialect]
    if mapping is None:
        arguments += ["--socket", str(place / f"{dialect}.sock")]
    else:
        (place / f"{dialect}.toml").write_text(mapping)
        options["mapping"] = f"{dialect}.toml"
        arguments += ["--benchmark", "toy-v1", "--port", "0", "--mapping", f"{dialect}.toml"]
    with serving(*arguments) as address:
        results = evaluate(dialect, address, said, **options)
    assert results.outcome_hash == expected
    assert results.run.settings.dialect == dialect
    assert any(f"taken for {dialect} (" in line for line in said)
    (replica,) = results.run.replicas
    assert replica.mapping == (None if mapping is None else dialect)


def test_a_token_opens_is_asked_for_and_is_written_nowhere(place: Path, expected: str) -> None:
    token, wrong = place / "token", place / "wrong"
    for file, content in ((token, "correct-horse-battery"), (wrong, "incorrect-horse-battery")):
        file.write_text(content)
        file.chmod(0o600)
    (place / "openpi.toml").write_text(MAPPING.format(codec="raw"))
    terms = ["--benchmark", "toy-v1", "--port", "0", "--mapping", "openpi.toml", "--token-file", str(token)]
    with serving("--dialect", "openpi", *terms) as address:
        for file in (None, wrong):
            with pytest.raises(AccessDeniedError):
                evaluate("refused", address, mapping="openpi.toml", token_file=file)
        results = evaluate("admitted", address, mapping="openpi.toml", token_file=token)
    assert results.outcome_hash == expected
    written = [path for run in ("refused", "admitted") for path in (place / "runs" / run).rglob("*")]
    assert not [path for path in written if path.is_file() and b"correct-horse" in path.read_bytes()]


def test_what_a_command_serves_is_found_out_too(place: Path, expected: str) -> None:
    command = [*SERVE, PIXELS, "--policy-arg", "chunk=10", "--dialect", "evostudio"]
    (place / "policy.json").write_text(
        json.dumps({"schema_version": 1, "command": command, "cwd": str(place)})
    )
    results = evaluate("command", "policy.json")
    assert results.outcome_hash == expected
    assert results.run.settings.dialect == "evostudio"
