"""Toy policies do what they say: succeed, fail, draw from seeds, or go wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.spec import benchmark_spec
from proctor.errors import InvalidActionError, UnknownNameError
from proctor.policy import (
    EpisodeContext,
    Observation,
    Policy,
    SessionContext,
    validate_action_chunk,
    validate_policy_capabilities,
)
from proctor.policy.seeds import noise_seed
from proctor.testing.toy import FAMILY
from proctor.testing.toy_policies import (
    HOOKS,
    ExpertPolicy,
    FaultyPolicy,
    MoodyPolicy,
    PixelPolicy,
    RandomPolicy,
    StatePolicy,
)
from proctor.testing.toy_versions import toy_version

VERSION = toy_version(("reach", "park"), episodes=6)
DEFINITION = VERSION.definition
CONTEXT = SessionContext("session", "", benchmark_spec(DEFINITION, privileged=("privileged.goal",)))
OBSERVATION = {
    "state.proprioception": np.zeros(4, np.float32),
    "privileged.goal": np.array([0.5, 0.5], np.float32),
}


def succeeds(policy: PixelPolicy, episode: Episode, policy_seed: int = 0) -> bool:
    policy.reset(EpisodeContext(episode.id, episode.task, policy_seed=policy_seed))
    task = next(task for task in DEFINITION.tasks if task.id == episode.task)
    environment = FAMILY.open(DEFINITION, task, DEFINITION.actions[0])
    observation = environment.begin(episode, policy.features).observation
    step = 0
    while step < task.horizon:
        seen = Observation(episode.id, step, observation, seed=noise_seed(policy_seed, step))
        for action in np.atleast_2d(policy.act(seen).actions):
            result = environment.step(action, policy.features)
            step, observation = step + 1, result.observation
            if result.success:
                policy.end_episode(episode.id)
                return True
    policy.end_episode(episode.id)
    return False


@pytest.mark.parametrize("policy", [PixelPolicy(), PixelPolicy(10), ExpertPolicy(), ExpertPolicy(7)])
def test_good_policies_succeed(policy: PixelPolicy) -> None:
    assert all(succeeds(policy, episode) for episode in VERSION.episodes)


@pytest.mark.parametrize("policy", [StatePolicy(), RandomPolicy()])
def test_goalless_policies_fail(policy: PixelPolicy) -> None:
    assert sum(succeeds(policy, episode) for episode in VERSION.episodes) <= 2


def test_a_moody_policy_succeeds_where_its_seed_is_even() -> None:
    policy = MoodyPolicy()
    assert [succeeds(policy, VERSION.episodes[1], policy_seed=seed) for seed in range(4)] == [
        True,
        False,
        True,
        False,
    ]


def test_random_actions_follow_the_noise_seed() -> None:
    policy = RandomPolicy(chunk=3)

    def actions(seed: int) -> np.ndarray[Any, Any]:
        return policy.act(Observation("e", 0, OBSERVATION, seed=seed)).actions

    np.testing.assert_array_equal(actions(7), actions(7))
    assert not np.array_equal(actions(7), actions(8))
    assert actions(7).shape == (3, 2)


@pytest.mark.parametrize("policy", [PixelPolicy(5), ExpertPolicy(), RandomPolicy(), MoodyPolicy()])
def test_capabilities_fit_the_benchmark(policy: Policy) -> None:
    validate_policy_capabilities(CONTEXT.benchmark, policy.load(CONTEXT))


def call(policy: FaultyPolicy, hook: str) -> object:
    if hook == "load":
        return policy.load(CONTEXT)
    if hook == "reset":
        return policy.reset(EpisodeContext("e", "reach"))
    if hook == "act":
        return policy.act(Observation("e", 0, OBSERVATION))
    return policy.end_episode("e") if hook == "end_episode" else policy.unload()


@pytest.mark.parametrize("hook", HOOKS)
def test_a_policy_raises_in_the_hook_it_was_told_and_in_no_other(hook: str) -> None:
    policy = FaultyPolicy("raise", hook)
    for other in HOOKS:
        if other == hook:
            with pytest.raises(RuntimeError, match="planned fault"):
                call(policy, other)
        else:
            call(policy, other)


REFUSED_BY_CHUNK = ["empty", "object"]
REFUSED_BY_SPEC = ["nan", "inf", "float64", "int", "long"]


@pytest.mark.parametrize("fault", REFUSED_BY_CHUNK)
def test_replies_that_are_no_chunk_cannot_be_made(fault: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        call(FaultyPolicy(fault), "act")


@pytest.mark.parametrize("fault", REFUSED_BY_SPEC)
def test_replies_that_break_the_contract_are_not_valid(fault: str) -> None:
    chunk: Any = call(FaultyPolicy(fault), "act")
    with pytest.raises(InvalidActionError):
        validate_action_chunk(chunk, CONTEXT.benchmark)


@pytest.mark.parametrize(("fault", "kind"), [("list", list), ("none", type(None))])
def test_replies_that_are_not_chunks_at_all(fault: str, kind: type) -> None:
    assert isinstance(call(FaultyPolicy(fault), "act"), kind)


@pytest.mark.parametrize(("fault", "shape"), [("flat", (2,)), ("huge", (1, 2))])
def test_replies_that_are_odd_but_well_formed(fault: str, shape: tuple[int, ...]) -> None:
    chunk: Any = call(FaultyPolicy(fault), "act")
    assert chunk.actions.shape == shape
    validate_action_chunk(chunk, CONTEXT.benchmark)


def test_a_fault_waits_for_its_step_and_task() -> None:
    policy = FaultyPolicy("raise", step=3, task="park")
    for task in ("reach", "park"):
        policy.reset(EpisodeContext(task, task))
        policy.act(Observation(task, 0, OBSERVATION))
    policy.act(Observation("reach", 3, OBSERVATION))
    with pytest.raises(RuntimeError):
        policy.act(Observation("park", 3, OBSERVATION))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nann",), "unknown fault 'nann'; did you mean 'nan'"),
        (("nan", "reset"), "unknown fault 'nan'"),
        (("raise", "rest"), "unknown hook 'rest'; did you mean 'reset'"),
    ],
)
def test_an_unknown_fault_or_hook_is_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        FaultyPolicy(*arguments)
