"""CALVIN's oracle, driven as a server would, without a simulator: what it takes on, and how it begins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proctor.actions.calvin_tcp import unpack_absolute
from proctor.actions.rotations import matrix_from_euler_xyz, matrix_from_wxyz, wxyz_from_xyzw
from proctor.benchmarks.calvin.starts import BLOCKS, DOOR, DRAWER, ROBOT
from proctor.benchmarks.calvin.subtasks import SUBTASKS
from proctor.policy import EpisodeContext, Observation, Policy
from proctor.policy.loading import make_policy

POLICIES = Path(__file__).parents[2] / "examples" / "policies"
STATE, SCENE = "state.proprioception", "privileged.scene"
UPRIGHT = (0.0, 0.0, np.pi / 2)
PLACES = {"red": (0.05, -0.12, 0.46), "blue": (0.07, 0.09, 0.46), "pink": (-0.24, 0.09, 0.46)}
NEEDING_A_HELD_BLOCK = ("place_in_slider", "place_in_drawer", "stack_block")
STEP_M = 0.015


def oracle() -> Policy:
    return make_policy(f"{POLICIES / 'calvin_oracle.py'}:CalvinOracle", {})


def see(**places: tuple[float, float, float]) -> Observation:
    """The start of a sequence, everything shut, the blocks where `PLACES` or the test says."""
    scene = np.zeros(24, np.float32)
    for colour, first in BLOCKS.items():
        scene[first : first + 6] = (*{**PLACES, **places}[colour], *UPRIGHT)
    scene[DOOR], scene[DRAWER] = 0.0, 0.0
    return Observation("e", 0, {STATE: np.array(ROBOT, np.float32), SCENE: scene})


def act(policy: Policy, observation: Observation) -> np.ndarray:
    return np.asarray(policy.act(observation).actions, np.float64).reshape(7)


def begin(subtask: str) -> Policy:
    policy = oracle()
    policy.reset(EpisodeContext("e", "sequence", instruction=SUBTASKS[subtask].instruction))
    return policy


@pytest.mark.parametrize("subtask", SUBTASKS)
def test_every_subtask_begins_with_a_small_step_from_where_the_hand_is(subtask: str) -> None:
    target = unpack_absolute(act(begin(subtask), see()))
    assert np.linalg.norm(target.position - ROBOT[:3]) <= STEP_M + 1e-6
    turn = matrix_from_wxyz(wxyz_from_xyzw(target.xyzw))
    np.testing.assert_allclose(turn, matrix_from_euler_xyz(ROBOT[3:6]), atol=0.07)
    assert target.gripper == 1


@pytest.mark.parametrize("subtask", NEEDING_A_HELD_BLOCK)
def test_without_a_block_in_the_hand_it_stays_where_it_is(subtask: str) -> None:
    policy = begin(subtask)
    for _ in range(3):
        target = unpack_absolute(act(policy, see()))
        np.testing.assert_allclose(target.position, ROBOT[:3], atol=1e-6)


def test_a_held_block_stays_held_on_its_way() -> None:
    target = unpack_absolute(act(begin("place_in_slider"), see(red=ROBOT[:3])))
    assert target.gripper == -1


def test_it_goes_on_from_the_target_before() -> None:
    policy = begin("open_drawer")
    first, second = (unpack_absolute(act(policy, see())).position for _ in range(2))
    assert np.linalg.norm(second - ROBOT[:3]) > np.linalg.norm(first - ROBOT[:3])


def test_an_instruction_that_is_none_of_calvins_is_refused() -> None:
    with pytest.raises(ValueError, match="no subtask of CALVIN is asked for by 'open the fridge'"):
        oracle().reset(EpisodeContext("e", "sequence", instruction="open the fridge"))
