"""What a model author writes against: the Policy lifecycle, its value types, and their checks."""

from proctor.policy.capabilities import PolicyCapabilities, PolicyExecutionContract
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext, SessionContext
from proctor.policy.lifecycle import Policy, PolicyState
from proctor.policy.observation import FeatureValue, Observation
from proctor.policy.spec import ActionSpec, BenchmarkName, BenchmarkSpec, FeatureKind, FeatureSpec

__all__ = [
    "ActionChunk",
    "ActionSpec",
    "BenchmarkName",
    "BenchmarkSpec",
    "EpisodeContext",
    "FeatureKind",
    "FeatureSpec",
    "FeatureValue",
    "Observation",
    "Policy",
    "PolicyCapabilities",
    "PolicyExecutionContract",
    "PolicyState",
    "SessionContext",
]
