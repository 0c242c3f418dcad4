"""What `import proctor` promises, and how little it costs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import proctor

SNAPSHOT = [
    "ActionChunk",
    "ActionSpec",
    "BenchmarkName",
    "BenchmarkSpec",
    "EpisodeContext",
    "FeatureKind",
    "FeatureSpec",
    "Observation",
    "POLICY_CONFIG_PATH",
    "POLICY_CONFIG_SCHEMA_VERSION",
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
"""A change here is a change of the public API: it belongs in CHANGELOG.md."""

ALLOWED_IN_BASE = {"numpy", "msgspec", "proctor", "typing_extensions"}
"""msgspec imports typing_extensions where something else installed it."""


def imported_by(statement: str) -> set[str]:
    program = (
        f"import sys; before = set(sys.modules); {statement}\n"
        "import json; print(json.dumps([m.partition('.')[0] for m in set(sys.modules) - before]))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # Which build settings module the standard library has depends on the platform.
    return {name for name in json.loads(run.stdout) if not name.startswith("_sysconfigdata")}


def test_public_names_are_the_snapshot() -> None:
    assert sorted(proctor.__all__) == sorted(SNAPSHOT)


@pytest.mark.parametrize("name", SNAPSHOT)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(proctor, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'PolicyBase'"):
        proctor.PolicyBase  # noqa: B018


def test_the_version_comes_from_distribution_metadata_alone() -> None:
    assert not hasattr(proctor, "__version__")


def test_importing_proctor_imports_nothing_else() -> None:
    third_party = imported_by("import proctor") - sys.stdlib_module_names
    assert third_party == {"proctor"}


def test_serving_a_policy_needs_the_base_install_only() -> None:
    third_party = imported_by("from proctor import Policy, PolicyServer, run") - sys.stdlib_module_names
    assert third_party <= ALLOWED_IN_BASE
