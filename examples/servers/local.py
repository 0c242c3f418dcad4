"""The local dialect: a Policy served in its own process, on this machine. Needs proctor alone.

Start it, then check it:

    python local.py --socket /tmp/hold.sock
    proctor bench check-server --policy unix:/tmp/hold.sock --benchmark aloha-sim-v1
"""

import argparse
import os

import numpy as np

from proctor import ActionChunk, EpisodeContext, Observation, Policy, PolicyCapabilities, SessionContext
from proctor.wire.local import run


class HoldStill(Policy):
    """Answers the joints it sees, ten times over."""

    def load(self, context: SessionContext) -> PolicyCapabilities:
        """Read weights here; the benchmark is in `context.benchmark`."""
        return PolicyCapabilities(("aloha",), ("state.joints",), supported_action_chunk_sizes=(10,))

    def reset(self, context: EpisodeContext) -> None:
        """Begin `context.episode_id`; others go on."""

    def act(self, observation: Observation) -> ActionChunk:
        """Run the model here."""
        return ActionChunk(np.tile(observation.features["state.joints"], (10, 1)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", default="/tmp/hold.sock")
    os.environ["PROCTOR_POLICY_SOCKET"] = parser.parse_args().socket
    run(HoldStill())
