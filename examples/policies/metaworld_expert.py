"""Meta-World's own scripted experts, one per task, behind the SDK like any user's policy.

    proctor bench eval metaworld-mt10-v1 --policy examples/policies/metaworld_expert.py:MetaworldExpert \\
        --policy-python env:metaworld

They come with the simulator, so the policy runs in its environment. They read the simulator's whole
observation (a privileged feature, so their runs say that they used one) and decide one step at a time.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from metaworld.policies import ENV_POLICY_MAP

from proctor.policy import (
    ActionChunk,
    EpisodeContext,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)

STATE = "privileged.state"


class MetaworldExpert(Policy):
    """Succeeds in 2,465 of the 2,500 episodes of MT50; sweep-into and disassemble are its weakest tasks."""

    def __init__(self) -> None:
        self._experts: dict[str, Any] = {}

    def load(self, context: SessionContext) -> PolicyCapabilities:
        # Experts ask for more than the arm can do in a step and say so each time; the benchmark clips.
        warnings.filterwarnings("ignore", message="Constant")
        return PolicyCapabilities(
            supported_benchmarks=("metaworld",),
            required_features=(STATE,),
            max_batch_size=16,
            batch_invariant=True,
        )

    def reset(self, context: EpisodeContext) -> None:
        self._experts[context.episode_id] = ENV_POLICY_MAP[context.task_id]()

    def act(self, observation: Observation) -> ActionChunk:
        state = np.asarray(observation.features[STATE], dtype=np.float64)
        action = self._experts[observation.episode_id].get_action(state)
        return ActionChunk(np.asarray(action, dtype=np.float32))

    def end_episode(self, episode_id: str) -> None:
        self._experts.pop(episode_id, None)
