"""proctor examines robot policies.

The names below are the public API. They are loaded on first use, so that importing proctor in a policy's
process costs nothing that the policy does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.launch import evaluate
    from proctor.policy import (
        POLICY_CONFIG_PATH,
        POLICY_CONFIG_SCHEMA_VERSION,
        ActionChunk,
        ActionSpec,
        BenchmarkName,
        BenchmarkSpec,
        EpisodeContext,
        FeatureKind,
        FeatureSpec,
        Observation,
        Policy,
        PolicyCapabilities,
        PolicyConfigError,
        PolicyExecutionContract,
        PolicyRuntimeConfig,
        PolicyState,
        SessionContext,
        benchmark_names,
        get_benchmark_spec,
        load_policy_runtime_config,
        negotiate_policy_action_contract,
        validate_action_chunk,
        validate_observation,
        validate_policy_capabilities,
    )
    from proctor.wire.local import PolicyClient, PolicyRemoteError, PolicyServer, run

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
    "Observation",
    "Policy",
    "PolicyCapabilities",
    "PolicyClient",
    "PolicyConfigError",
    "PolicyExecutionContract",
    "PolicyRemoteError",
    "PolicyRuntimeConfig",
    "PolicyServer",
    "PolicyState",
    "SessionContext",
    "benchmark_names",
    "evaluate",
    "get_benchmark_spec",
    "load_policy_runtime_config",
    "negotiate_policy_action_contract",
    "run",
    "validate_action_chunk",
    "validate_observation",
    "validate_policy_capabilities",
]

_ELSEWHERE = {
    "evaluate": "proctor.launch",
    "PolicyClient": "proctor.wire.local",
    "PolicyRemoteError": "proctor.wire.local",
    "PolicyServer": "proctor.wire.local",
    "run": "proctor.wire.local",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'proctor' has no attribute {name!r}")
    value = getattr(import_module(_ELSEWHERE.get(name, "proctor.policy")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
