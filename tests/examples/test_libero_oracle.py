"""LIBERO's oracle, driven as a server would, without a simulator: what it takes on, and how it begins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proctor.benchmarks.registry import find_version
from proctor.policy import EpisodeContext, Observation, Policy
from proctor.policy.loading import make_policy

POLICIES = Path(__file__).parents[2] / "examples" / "policies"
STATE, POSES = "state.proprioception", "privileged.objects_of_interest"
DOWN = np.array([1.0, 0.0, 0.0, 0.0])
BOWL, PLATE = [0.1, 0.0, 0.9, *DOWN], [0.0, 0.2, 0.9, 0.0, 0.0, 0.0, 1.0]
REFUSED = {
    "libero-v1": {"10-9"},
    "libero-90-v1": {f"90-{number}" for number in ("06", 32, 33, 35, 39, 40, 42, 86, 88, 89)},
    "libero-pro-v1": {
        *("goal-lan-5", "goal-task-0", "goal-task-7"),
        *(f"10-{perturbation}-9" for perturbation in ("lan", "object", "swap", "task")),
    },
}


def oracle() -> Policy:
    return make_policy(f"{POLICIES / 'libero_oracle.py'}:LiberoOracle", {})


def see(*poses: list[float]) -> Observation:
    rows = np.zeros((4, 7), np.float32)
    rows[: len(poses)] = np.reshape(poses, (-1, 7))
    hand = np.array([-0.2, 0.0, 1.2, *DOWN, 0.04, -0.04, *[0.0] * 7], np.float32)
    return Observation("e", 0, {STATE: hand, POSES: rows})


@pytest.mark.parametrize("version", REFUSED)
def test_it_refuses_what_it_cannot_do_when_the_episode_begins(version: str) -> None:
    refused = set()
    for task in find_version(version).definition.tasks:
        try:
            oracle().reset(EpisodeContext(task.id, task.id, instruction=task.instruction))
        except ValueError:
            refused.add(task.id)
    assert refused == REFUSED[version]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("juggle", "does not understand the sentence"),
        ("put the mug in the microwave and close it", "cannot put a thing in microwave"),
        ("open the microwave", "cannot open the microwave"),
        ("open the bottom drawer of the cabinet", "a handle so near the table"),
        ("turn off the stove", "cannot see how far a stove is turned on"),
        ("put the ketchup in the top drawer of the cabinet", "too tall for a drawer"),
    ],
)
def test_a_refusal_says_what_it_cannot_do(sentence: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"no plan for task 'x', '{sentence}'.*{reason}"):
        oracle().reset(EpisodeContext("e", "x", instruction=sentence))


@pytest.mark.parametrize("task", ["object-0-language", "spatial-2-language"])
def test_a_rewritten_sentence_is_done_without_where_a_suite_has_one_place(task: str) -> None:
    oracle().reset(EpisodeContext("e", task, instruction="for our groceries please see to the soup"))


@pytest.mark.parametrize("task", ["goal-0-language", "object-0"])
def test_elsewhere_it_is_refused(task: str) -> None:
    with pytest.raises(ValueError, match="does not understand the sentence"):
        oracle().reset(EpisodeContext("e", task, instruction="for our groceries please see to the soup"))


@pytest.mark.parametrize("poses", [(), (BOWL,)])
def test_a_scene_that_does_not_say_where_its_things_are_is_refused(poses: tuple[list[float], ...]) -> None:
    policy = oracle()
    policy.reset(EpisodeContext("e", "90-09", instruction="put the black bowl on the plate"))
    with pytest.raises(ValueError, match=f"to put the black bowl: the scene tells {len(poses)} poses"):
        policy.act(see(*poses))


def test_it_goes_to_the_thing_with_an_open_hand() -> None:
    policy = oracle()
    policy.reset(EpisodeContext("e", "90-09", instruction="put the black bowl on the plate"))
    action = np.asarray(policy.act(see(BOWL, PLATE)).actions)
    np.testing.assert_allclose(action, [1, 1, -1, 0, 0, 0, -1], atol=1e-6)


def test_it_goes_to_the_thing_where_the_scene_names_the_place_first() -> None:
    policy = oracle()
    policy.reset(EpisodeContext("e", "90-01", instruction="put the black bowl on top of the cabinet"))
    action = np.asarray(policy.act(see(PLATE, BOWL)).actions)
    np.testing.assert_allclose(action, [1, 1, -1, 0, 0, 0, -1], atol=1e-6)
