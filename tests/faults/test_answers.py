"""What a server may answer that is no action: the episode ends as the policy's fault, the next one is served.

Nothing of it can reach a simulator: `act` raises, and the rollout steps with what `act` returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from proctor.errors import InvalidActionError, ProctorError, ProtocolError
from proctor.evaluation.faults import outcome_of
from proctor.evaluation.record import Outcome
from proctor.limits import MAX_CHUNK_STEPS
from proctor.wire.local import memory
from proctor.wire.session import PolicySession

from .wires import DIALECTS, DIMENSION, SERVERS, Forged, Puppet, ask, begin, lives, observation, open_session

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
    begin(session, "lied to")
    with pytest.raises(ProctorError) as caught:
        session.act(observation("lied to", 3))
    assert isinstance(caught.value, (InvalidActionError, ProtocolError)), caught.value
    assert outcome_of(caught.value, "policy_act") is Outcome.POLICY_ERROR
    assert len(str(caught.value)) < 1000
    session.end("lied to", "policy_error")
    puppet.answer = Puppet.answer
    assert lives(session)


def test_the_smallest_numbers_are_actions(wire: Fixture) -> None:
    session, puppet = wire
    puppet.answer = lambda state: np.full((1, DIMENSION), 1e-40, np.float32)
    begin(session, "small")
    assert 0 < ask(session, "small", 0) < 1e-39
    session.end("small", "success")
    puppet.answer = Puppet.answer
