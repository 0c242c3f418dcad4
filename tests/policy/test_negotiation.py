"""What a run is executed under: the policy's choice where it made one, the benchmark's where it did not."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.errors import PolicyLoadError
from proctor.policy import (
    PolicyCapabilities,
    PolicyExecutionContract,
    get_benchmark_spec,
    negotiate_policy_action_contract,
)

ROBOTWIN = get_benchmark_spec("robotwin", "demo_clean")


def negotiate(**declared: Any) -> PolicyExecutionContract:
    capabilities = PolicyCapabilities(("robotwin", "calvin"), ("images.head",), **declared)
    return negotiate_policy_action_contract(ROBOTWIN, capabilities)


def test_defaults_are_named_as_such() -> None:
    assert negotiate() == PolicyExecutionContract(
        "robotwin", "robotwin.qpos-v1", "benchmark_default", 1, "safe_default"
    )


def test_the_policys_choices_are_named_as_such() -> None:
    contract = negotiate(
        action_representations={"robotwin": "robotwin.ee-compact-quat-v1"},
        observation_strides={"robotwin": 4},
    )
    assert contract == PolicyExecutionContract(
        "robotwin", "robotwin.ee-compact-quat-v1", "policy", 4, "policy"
    )


def test_choosing_the_default_is_a_choice() -> None:
    contract = negotiate(
        action_representations={"robotwin": "robotwin.qpos-v1"}, observation_strides={"robotwin": 1}
    )
    assert contract == PolicyExecutionContract("robotwin", "robotwin.qpos-v1", "policy", 1, "policy")


def test_choices_for_another_benchmark_do_not_count() -> None:
    contract = negotiate(
        action_representations={"calvin": "calvin.relative-v1"}, observation_strides={"calvin": 3}
    )
    assert contract.action_representation_source == "benchmark_default"
    assert contract.observation_stride == 1


def test_an_unsupported_choice_is_never_replaced_by_the_default() -> None:
    with pytest.raises(PolicyLoadError, match=r"did you mean 'robotwin.qpos-v1'"):
        negotiate(action_representations={"robotwin": "robotwin.qpos-v2"})
