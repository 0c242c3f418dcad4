"""robosuite's oracle, driven as a server would, without a simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.policy import EpisodeContext
from proctor.policy.loading import make_policy

POLICIES = Path(__file__).parents[2] / "examples" / "policies"


@pytest.mark.parametrize("task", ["two-arm-handover", "two-arm-transport"])
def test_a_task_without_a_plan_is_refused_when_the_episode_begins(task: str) -> None:
    policy = make_policy(f"{POLICIES / 'robosuite_oracle.py'}:RobosuiteOracle", {})
    with pytest.raises(ValueError, match=f"no plan for task '{task}'; only for lift, stack, .*two-arm-lift"):
        policy.reset(EpisodeContext("e", task))
