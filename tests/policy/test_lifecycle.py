"""The base class asks for load and act, and has an answer for every other hook."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.policy import (
    ActionChunk,
    EpisodeContext,
    Observation,
    Policy,
    PolicyCapabilities,
    PolicyState,
    SessionContext,
)


class Counting(Policy):
    def load(self, context: SessionContext) -> PolicyCapabilities:
        return PolicyCapabilities(("toy",), ())

    def act(self, observation: Observation) -> ActionChunk:
        return ActionChunk(np.array([observation.step], np.float32))


def test_load_and_act_are_the_policys_own_work() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Policy()  # type: ignore[abstract]


def test_a_batch_is_acted_on_one_by_one_in_order() -> None:
    observations = tuple(Observation("e", step, {}) for step in (3, 1, 2))
    assert [int(chunk.actions[0]) for chunk in Counting().act_batch(observations)] == [3, 1, 2]


def test_the_other_hooks_may_be_left_out() -> None:
    policy = Counting()
    policy.reset(EpisodeContext("e", "t"))
    policy.end_episode("e")
    policy.unload()
    assert policy.act_batch(()) == ()


def test_states_are_closed_and_are_their_strings() -> None:
    assert [str(state) for state in PolicyState] == [
        "created",
        "loading",
        "ready",
        "failed",
        "unloading",
        "closed",
    ]
    assert PolicyState("ready") is PolicyState.READY
    with pytest.raises(ValueError, match="unknown PolicyState 'redy'; did you mean 'ready'"):
        PolicyState("redy")
