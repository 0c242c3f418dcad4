"""What a model author writes against: the Policy lifecycle, its value types, and their checks."""

from proctor.errors import PolicyConfigError
from proctor.policy.capabilities import PolicyCapabilities, PolicyExecutionContract
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext, SessionContext
from proctor.policy.lifecycle import Policy, PolicyState
from proctor.policy.named_benchmarks import benchmark_names, get_benchmark_spec
from proctor.policy.negotiation import negotiate_policy_action_contract
from proctor.policy.observation import FeatureValue, Observation
from proctor.policy.process_file import (
    POLICY_CONFIG_PATH,
    POLICY_CONFIG_SCHEMA_VERSION,
    PolicyRuntimeConfig,
    load_policy_runtime_config,
)
from proctor.policy.spec import ActionSpec, BenchmarkName, BenchmarkSpec, FeatureKind, FeatureSpec
from proctor.policy.validation import (
    validate_action_chunk,
    validate_observation,
    validate_policy_capabilities,
)

__all__ = [
    "POLICY_CONFIG_PATH",
    "POLICY_CONFIG_SCHEMA_VERSION",
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
    "PolicyConfigError",
    "PolicyExecutionContract",
    "PolicyRuntimeConfig",
    "PolicyState",
    "SessionContext",
    "benchmark_names",
    "get_benchmark_spec",
    "load_policy_runtime_config",
    "negotiate_policy_action_contract",
    "validate_action_chunk",
    "validate_observation",
    "validate_policy_capabilities",
]
