"""The smallest policy: it keeps the joints where they are."""

import numpy as np

from proctor import ActionChunk, Observation, Policy, PolicyCapabilities, SessionContext


class HoldStill(Policy):
    """Returns the measured joints as targets, ten times over."""

    def load(self, context: SessionContext) -> PolicyCapabilities:
        return PolicyCapabilities(("aloha",), ("state.joints",), supported_action_chunk_sizes=(10,))

    def act(self, observation: Observation) -> ActionChunk:
        return ActionChunk(np.tile(observation.features["state.joints"], (10, 1)))
