"""What a server may answer that is no action: no simulator steps with it, the episode ends as the policy's
fault, and the next one is served."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from proctor.benchmarks.contract import Episode, Reset, Segment, StepResult
from proctor.benchmarks.definition import ActionDefinition, FeatureDefinition
from proctor.evaluation.protocol import RunSettings
from proctor.evaluation.record import Outcome
from proctor.evaluation.rollout import run_episode
from proctor.limits import MAX_CHUNK_STEPS
from proctor.testing.toy_versions import toy_definition
from proctor.wire.local import memory
from proctor.wire.session import PolicySession

from .wires import (
    DIALECTS,
    DIMENSION,
    SERVERS,
    SPEC,
    Forged,
    Puppet,
    ask,
    begin,
    lives,
    observation,
    open_session,
)

ROW = np.zeros((1, DIMENSION), np.float32)

LIES: dict[str, Any] = {
    "not a number": ROW + np.nan,
    "infinite": ROW + np.inf,
    "minus infinity": ROW - np.inf,
    "1e308": np.full((1, DIMENSION), 1e308),
    "one value": ROW + np.where(np.arange(DIMENSION) == 3, np.float32(np.nan), np.float32(0)),
    "another dimension": ROW[:, :7],
    "no dimension": np.zeros((), np.float32),
    "three dimensions": np.zeros((2, 3, DIMENSION), np.float32),
    "no row": ROW[:0],
    "too many rows": np.zeros((MAX_CHUNK_STEPS + 1, DIMENSION), np.float32),
    "booleans": ROW.astype(bool),
    "objects": ROW.astype(object),
    "text": "forwards",
    "texts": ["0.0"] * DIMENSION,
    "nothing": None,
    "junk": {"nested": [{"deeper": [None, {}]}]},
    "rows of different lengths": [[0.0] * DIMENSION, [0.0] * 3],
    "forged: objects": Forged("|O", [1, DIMENSION], bytes(64)),
    "forged: structured": Forged("[('a', '<f4')]", [1, DIMENSION], bytes(32)),
    "forged: a negative dimension": Forged("<f4", [-1, DIMENSION], bytes(32)),
    "forged: a dimension beyond memory": Forged("<f4", [1 << 40, 1 << 40], bytes(32)),
    "forged: a product that overflows": Forged("<f4", [1 << 33, 1 << 31, DIMENSION], bytes(32)),
    "forged: nine dimensions": Forged("<f4", [1] * 8 + [DIMENSION], bytes(32)),
    "forged: a buffer cut short": Forged("<f4", [1, DIMENSION], bytes(31)),
    "forged: a buffer too long": Forged("<f4", [1, DIMENSION], bytes(33)),
}


EPISODE = Episode("reach/0/0", "reach", 0, 7, (Segment("go", 20),))
BENCHMARK = msgspec.structs.replace(
    toy_definition(),
    features=(
        FeatureDefinition(name="images.camera", kind="image", dtype="uint8", shape=(4, 6, 3)),
        FeatureDefinition(name="state.joints", kind="state", dtype="float32", shape=(DIMENSION,)),
        FeatureDefinition(name="language.instruction", kind="language"),
    ),
    actions=(
        ActionDefinition(
            representation=SPEC.default_action_representation,
            dimension=DIMENSION,
            dtype="float32",
            limits="pass",
            low=(-1.0,) * DIMENSION,
            high=(1.0,) * DIMENSION,
        ),
    ),
)
SETTINGS = RunSettings(
    run="faults",
    benchmark=BENCHMARK,
    benchmark_hash="0" * 64,
    run_seed=0,
    execute_steps="policy<=8",
    action_representation=SPEC.default_action_representation,
    policy_endpoints=(),
    observe=("images.camera", "state.joints", "language.instruction"),
    record="none",
    record_features=(),
    act_timeout_s=5.0,
    run_directory="",
)


class Simulator:
    """Counts its steps."""

    def __init__(self) -> None:
        self.steps = 0

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        return Reset(self._observed(observe), np.zeros(DIMENSION), False)

    def step(self, action: np.ndarray, observe: Collection[str] = ()) -> StepResult:
        self.steps += 1
        return StepResult(terminated=False, success=False, observation=self._observed(observe))

    def enter_segment(self, number: int, observe: Collection[str]) -> dict[str, Any]:
        return self._observed(observe)

    def hold_action(self, last: np.ndarray | None) -> np.ndarray:
        return np.zeros(DIMENSION, np.float32)

    def close(self) -> None:
        pass

    def _observed(self, names: Collection[str]) -> dict[str, Any]:
        features = observation("a", 3).features
        return {name: features[name] for name in names}


@pytest.fixture(scope="module", params=DIALECTS)
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    puppet = Puppet()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "AVAILABLE", False)
        with SERVERS[request.param](puppet, tmp_path_factory.mktemp("wire")) as address:
            session = open_session(request.param, address)
            yield session, puppet
            session.close()


Fixture = tuple[PolicySession, Puppet]


@pytest.mark.parametrize("lie", LIES)
def test_what_is_no_action_is_the_policys_fault(wire: Fixture, lie: str) -> None:
    session, puppet = wire
    puppet.answer = lambda state: LIES[lie]
    simulator = Simulator()
    record = run_episode(simulator, session, EPISODE, SETTINGS)
    assert record.outcome is Outcome.POLICY_ERROR
    assert record.error is not None
    assert record.error.type in ("InvalidActionError", "ProtocolError")
    assert record.error.phase == "policy_act"
    assert len(record.error.message) < 1000
    assert simulator.steps == 0
    puppet.answer = Puppet.answer
    assert lives(session)


def test_the_smallest_numbers_are_actions(wire: Fixture) -> None:
    session, puppet = wire
    puppet.answer = lambda state: np.full((1, DIMENSION), 1e-40, np.float32)
    begin(session, "small")
    assert 0 < ask(session, "small", 0) < 1e-39
    session.end("small", "success")
    puppet.answer = Puppet.answer


def test_what_is_an_action_is_stepped_with(wire: Fixture) -> None:
    simulator = Simulator()
    record = run_episode(simulator, wire[0], EPISODE, SETTINGS)
    assert record.outcome is Outcome.FAILURE, record.error
    assert simulator.steps == 20
