from __future__ import annotations

import pytest
from msgspec.structs import replace

from proctor.errors import PolicyLoadError
from proctor.launch.replicas import require_same
from proctor.policy import PolicyCapabilities
from proctor.wire.session import SessionDescription

ONE = SessionDescription(
    dialect="proctor.local/1",
    endpoint="unix:/a",
    capabilities=PolicyCapabilities(supported_benchmarks=("toy",), required_features=()),
    action_representation="toy.velocity-v1",
    action_representation_source="benchmark_default",
)


def test_replicas_differ_in_their_endpoint_alone() -> None:
    require_same("replica-0", ONE, "replica-1", replace(ONE, endpoint="unix:/b"))


@pytest.mark.parametrize("change", [{"action_representation": "toy.position-v1"}, {"batching": "accepted"}])
def test_another_difference_is_named(change: dict[str, str]) -> None:
    (field,) = change
    with pytest.raises(PolicyLoadError, match=f"{field} is .* in replica-0 and .* in replica-1"):
        require_same("replica-0", ONE, "replica-1", replace(ONE, **change))
