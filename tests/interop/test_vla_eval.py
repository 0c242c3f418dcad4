"""vla-eval's model server, unmodified, evaluated by proctor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.evaluation.record import Outcome
from proctor.launch import evaluate
from proctor.testing.toy_versions import write_toy_version

from .peer_processes import PEERS, listening

Interpreter = Callable[[str], Path]

pytestmark = pytest.mark.process

MAPPING = """
instruction = "task_description"
[[images]]
key = "images.agentview"
feature = ["images.primary"]
codec = "CODEC"
[[states]]
key = "states"
feature = ["state.proprioception"]
"""
PRIVILEGED = """
[[states]]
key = "controller_states"
feature = ["privileged.state"]
"""


@pytest.fixture
def python(interpreter: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    raw = MAPPING.replace("CODEC", "raw")
    Path("raw.toml").write_text(raw)
    Path("png.toml").write_text(MAPPING.replace("CODEC", "png"))
    Path("privileged.toml").write_text(raw + PRIVILEGED)
    return interpreter("vla-eval")


def test_a_run_has_the_same_outcomes_as_over_the_local_dialect(python: Path) -> None:
    write_toy_version(Path("conf/benchmarks"), episodes=2)
    with listening(python, "vla_eval_server.py", "steer") as port:
        address = f"vla-eval+ws://127.0.0.1:{port}"
        raw = evaluate(address, benchmark="toy-v1", mapping="raw.toml", workers=2, name="raw")
        png = evaluate(address, benchmark="toy-v1", mapping="png.toml", workers=1, name="png")
    ours = evaluate(str(PEERS / "pilot_policy.py:Steer"), benchmark="toy-v1", workers=1, name="ours")
    assert raw.outcome_hash == png.outcome_hash == ours.outcome_hash
    assert {record.outcome for record in raw.records} == {Outcome.SUCCESS}


def test_its_errors_count_against_the_policy_and_shift_nothing(python: Path) -> None:
    write_toy_version(Path("conf/benchmarks"), ("cliff", "park", "reach"), episodes=1)
    with listening(python, "vla_eval_server.py", "raise") as port:
        results = evaluate(
            f"vla-eval+ws://127.0.0.1:{port}",
            benchmark="toy-v1",
            mapping="raw.toml",
            workers=1,
            name="raising",
        )
    records = {record.task: record for record in results.records}
    assert {task: record.outcome for task, record in records.items()} == {
        "cliff": Outcome.POLICY_ERROR,
        "park": Outcome.POLICY_ERROR,
        "reach": Outcome.SUCCESS,
    }
    errors = {task: record.error.message for task, record in records.items() if record.error}
    assert "episode_start_failed: RuntimeError: this model fears heights" in errors["cliff"]
    assert "observation_failed: ValueError: this model knows no such scene" in errors["park"]


@pytest.mark.sim
def test_a_run_in_a_real_simulator(python: Path) -> None:
    settings: dict[str, Any] = {
        "benchmark": "metaworld-mt10-v1",
        "tasks": ["reach-v3"],
        "episodes": 1,
        "workers": 1,
    }
    with listening(python, "vla_eval_server.py", "reach") as port:
        address = f"vla-eval+ws://127.0.0.1:{port}"
        theirs = evaluate(address, mapping="privileged.toml", name="theirs", **settings)
    ours = evaluate(str(PEERS / "pilot_policy.py:Reach"), name="ours", **settings)
    assert theirs.outcome_hash == ours.outcome_hash
    assert [record.outcome for record in theirs.records] == [Outcome.SUCCESS]
