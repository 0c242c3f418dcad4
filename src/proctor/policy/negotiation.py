"""From a benchmark's spec and a policy's capabilities to the one contract a run is executed under."""

from __future__ import annotations

from proctor.policy.capabilities import PolicyCapabilities, PolicyExecutionContract
from proctor.policy.spec import BenchmarkSpec
from proctor.policy.validation import validate_policy_capabilities


def negotiate_policy_action_contract(
    benchmark: BenchmarkSpec, capabilities: PolicyCapabilities
) -> PolicyExecutionContract:
    """The policy's own choices where it made them, else the benchmark's representation and stride 1.

    Raises `PolicyLoadError` where the capabilities do not fit the benchmark.
    """
    validate_policy_capabilities(benchmark, capabilities)
    representation = capabilities.action_representations.get(benchmark.name)
    stride = capabilities.observation_strides.get(benchmark.name)
    return PolicyExecutionContract(
        benchmark=benchmark.name,
        action_representation=representation or benchmark.default_action_representation,
        action_representation_source="policy" if representation else "benchmark_default",
        observation_stride=stride or 1,
        observation_stride_source="policy" if stride else "safe_default",
    )
