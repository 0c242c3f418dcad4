"""openpi's published client and message packing, unmodified, against proctor from both sides."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.benchmarks.spec import benchmark_spec
from proctor.evaluation.record import Outcome
from proctor.launch import evaluate
from proctor.policy import Observation, Policy, SessionContext
from proctor.testing.toy_policies import PixelPolicy
from proctor.testing.toy_versions import toy_definition, write_toy_version
from proctor.wire.exposure import Guard
from proctor.wire.mapping import ImageMapping, Mapping, StateMapping
from proctor.wire.openpi.server import SERVER
from proctor.wire.serving import Address, ServedPolicy

from .peer_processes import PEERS, listening

Interpreter = Callable[[str], Path]

pytestmark = pytest.mark.process

TOY_MAPPING = """
instruction = "prompt"
[[images]]
key = "observation/image"
feature = ["images.primary"]
[[states]]
key = "observation/state"
feature = ["state.proprioception"]
"""
METAWORLD_MAPPING = (
    TOY_MAPPING
    + """
[[states]]
key = "observation/privileged"
feature = ["privileged.state"]
"""
)


@pytest.fixture
def python(interpreter: Interpreter) -> Path:
    return interpreter("openpi")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mapping.toml").write_text(TOY_MAPPING)
    return tmp_path


class TestTheirClient:
    SPEC = benchmark_spec(toy_definition(), "all")
    MAPPING = Mapping(
        name="mine",
        images=(ImageMapping(key="observation/image", feature=("images.primary",)),),
        states=(StateMapping(key="observation/state", feature=("state.proprioception",)),),
        instruction="prompt",
    )

    @contextmanager
    def served(self, policy: Policy, guard: Guard | None = None) -> Iterator[str]:
        context = SessionContext("interop", "", self.SPEC)
        served = ServedPolicy(policy, context=context, mapping=self.MAPPING)
        served.load()
        server = SERVER.start(served, Address(), guard or Guard())
        try:
            yield server.address.rpartition(":")[2]
        finally:
            server.close()
            served.close()

    @staticmethod
    def ask(python: Path, *arguments: str) -> Any:
        command = [python, PEERS / "asker.py", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)

    def test_it_gets_what_the_policy_answers(self, python: Path) -> None:
        with self.served(PixelPolicy(chunk=4)) as port:
            heard = self.ask(python, port, "10")
        direct = PixelPolicy(chunk=4)
        for index, answer in enumerate(heard["answers"]):
            random = np.random.RandomState(index)
            features: dict[str, Any] = {
                "images.primary": random.randint(0, 256, (64, 64, 3)).astype(np.uint8),
                "state.proprioception": random.standard_normal(4).astype(np.float32),
            }
            expected = direct.act(Observation("direct", index, features)).actions
            np.testing.assert_array_equal(np.asarray(answer, np.float32), expected)
        assert len(heard["answers"]) == 10

    def test_it_hears_of_an_error_as_text(self, python: Path) -> None:
        with self.served(_Raising()) as port:
            heard = self.ask(python, port, "3")
        assert heard["answers"][0].startswith("act() raised ValueError: no")
        assert len(heard["answers"]) == 1

    def test_its_key_opens(self, python: Path) -> None:
        with self.served(PixelPolicy(), Guard(token="s3cret-s3cret-s3cret")) as port:
            assert len(self.ask(python, port, "1", "s3cret-s3cret-s3cret")["answers"]) == 1
            with pytest.raises(subprocess.CalledProcessError) as refused:
                self.ask(python, port, "1", "wrong")
            assert "401" in refused.value.stderr


class TestTheirServer:
    def test_a_run_has_the_same_outcomes_as_over_the_local_dialect(self, python: Path, place: Path) -> None:
        write_toy_version(place / "conf" / "benchmarks", episodes=3)
        with listening(python, "openpi_server.py", "steer") as port:
            theirs = evaluate(
                f"127.0.0.1:{port}", benchmark="toy-v1", mapping="mapping.toml", workers=2, name="theirs"
            )
        ours = evaluate(str(PEERS / "pilot_policy.py:Steer"), benchmark="toy-v1", workers=1, name="ours")
        assert theirs.outcome_hash == ours.outcome_hash
        assert {record.outcome for record in theirs.records} == {Outcome.SUCCESS}

    def test_an_error_of_theirs_counts_against_the_policy(self, python: Path, place: Path) -> None:
        write_toy_version(place / "conf" / "benchmarks", episodes=1)
        with listening(python, "openpi_server.py", "raise") as port:
            results = evaluate(
                f"127.0.0.1:{port}", benchmark="toy-v1", mapping="mapping.toml", workers=1, name="raising"
            )
        (record, *_) = results.records
        assert record.outcome is Outcome.POLICY_ERROR
        assert record.error is not None
        assert record.error.message.endswith("ValueError: this model knows no such scene")

    @pytest.mark.sim
    def test_a_run_in_a_real_simulator(self, python: Path, place: Path) -> None:
        (place / "mapping.toml").write_text(METAWORLD_MAPPING)
        settings: dict[str, Any] = {
            "benchmark": "metaworld-mt10-v1",
            "tasks": ["reach-v3"],
            "episodes": 1,
            "workers": 1,
        }
        with listening(python, "openpi_server.py", "reach") as port:
            theirs = evaluate(f"127.0.0.1:{port}", mapping="mapping.toml", name="theirs", **settings)
        ours = evaluate(str(PEERS / "pilot_policy.py:Reach"), name="ours", **settings)
        assert theirs.outcome_hash == ours.outcome_hash
        assert [record.outcome for record in theirs.records] == [Outcome.SUCCESS]


class _Raising(PixelPolicy):
    def act(self, observation: Observation) -> Any:
        raise ValueError("no")
