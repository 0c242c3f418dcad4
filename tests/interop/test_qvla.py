"""A server written from the description of `qvla.policy_server/1`, on openpi's published message packing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import PolicyLoadError
from proctor.launch import evaluate
from proctor.launch.evaluation import run_evaluation
from proctor.launch.request import EvaluationRequest
from proctor.results import Results
from proctor.testing.toy_versions import write_toy_version

from .peer_processes import PEERS, listening

Interpreter = Callable[[str], Path]

pytestmark = pytest.mark.process

MAPPING = """
instruction = "prompt"
[[images]]
key = "base_0_rgb"
feature = ["images.primary"]
[[images]]
key = "left_wrist_0_rgb"
feature = ["images.mirror"]
[[states]]
key = "state"
feature = ["state.proprioception"]
"""


METAWORLD_MAPPING = """
instruction = "prompt"
[[images]]
key = "base_0_rgb"
feature = ["images.primary"]
[[states]]
key = "state"
feature = ["state.proprioception"]
"""


@pytest.fixture
def python(interpreter: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mapping.toml").write_text(MAPPING)
    return interpreter("openpi")


def test_a_run_has_the_same_outcomes_as_over_the_local_dialect_noise_included(python: Path) -> None:
    write_toy_version(Path("conf/benchmarks"), episodes=3)
    with listening(python, "qvla_server.py", "steer") as port:
        theirs = evaluate(
            f"127.0.0.1:{port}", benchmark="toy-v1", mapping="mapping.toml", workers=2, name="theirs"
        )
    assert theirs.outcome_hash == _steered(jitter=True).outcome_hash
    assert theirs.outcome_hash != _steered(jitter=False).outcome_hash


def test_a_server_at_another_rate_is_refused_before_the_first_episode(python: Path) -> None:
    write_toy_version(Path("conf/benchmarks"), episodes=1, control_hz=20.0)
    with (
        listening(python, "qvla_server.py", "steer") as port,
        pytest.raises(PolicyLoadError, match="action_fps is 10, the benchmark applies 20"),
    ):
        evaluate(f"127.0.0.1:{port}", benchmark="toy-v1", mapping="mapping.toml", workers=1, name="slow")


@pytest.mark.sim
def test_a_run_in_a_real_simulator(python: Path) -> None:
    Path("mapping.toml").write_text(METAWORLD_MAPPING)
    settings: dict[str, Any] = {
        "benchmark": "metaworld-mt10-v1",
        "tasks": ["reach-v3"],
        "episodes": 1,
        "workers": 1,
    }
    with listening(python, "qvla_server.py", "hover") as port:
        theirs = evaluate(f"127.0.0.1:{port}", mapping="mapping.toml", name="theirs", **settings)
    ours = run_evaluation(
        EvaluationRequest(
            policy=str(PEERS / "pilot_policy.py:Hover"), policy_args={"rows": 50}, name="ours", **settings
        )
    )
    assert (theirs.outcome_hash, theirs.actions_hash) == (ours.outcome_hash, ours.actions_hash)
    assert [record.steps for record in theirs.records] == [500]


def _steered(*, jitter: bool) -> Results:
    return run_evaluation(
        EvaluationRequest(
            policy=str(PEERS / "pilot_policy.py:Steer"),
            policy_args={"jitter": jitter},
            benchmark="toy-v1",
            workers=1,
            name=f"jitter-{jitter}".lower(),
        )
    )
