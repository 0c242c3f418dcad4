"""docs/reference/policy-api.md states what the code does."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from proctor import limits
from proctor.policy import (
    Policy,
    PolicyCapabilities,
    benchmark_names,
    get_benchmark_spec,
    process_file,
)
from proctor.policy.check import check_policy
from proctor.policy.seeds import noise_seed, policy_seed

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "policy-api.md").read_text(encoding="utf-8")


def rows(pattern: str) -> list[tuple[str, ...]]:
    found = re.findall(pattern, PAGE, re.MULTILINE)
    assert found
    return found


def test_the_policy_seed_vectors_are_true() -> None:
    for run_seed, key, repetition, seed in rows(r"^\| (\d+) \| `(.+)` \| (\d+) \| (\d+) \|$"):
        assert policy_seed(int(run_seed), key, int(repetition)) == int(seed)


def test_the_noise_seed_vectors_are_true() -> None:
    for seed, index, noise in rows(r"^\| (\d+) \| (\d+) \| (\d+) \|$"):
        assert noise_seed(int(seed), int(index)) == int(noise)


def test_the_named_contracts_are_the_ones_listed() -> None:
    listed = rows(r"^\| `(\w+)` \| `([\w-]+)` \| (\d+) \| `([\w.-]+)`")
    specs = [get_benchmark_spec(name, "s") for name in benchmark_names()]
    assert listed == [
        (str(s.name), s.protocol_version, str(s.action.dimension), s.default_action_representation)
        for s in specs
    ]


def test_every_capability_is_described() -> None:
    names = [field.name for field in dataclasses.fields(PolicyCapabilities)]
    assert [name for name in names if f"| `{name}`" not in PAGE] == []


def test_limits_are_the_ones_stated() -> None:
    assert f"more than {limits.MAX_CHUNK_STEPS:,} actions" in PAGE
    stated = f"1 to {limits.MAX_COMMAND_ITEMS} strings of 1 to {limits.MAX_COMMAND_CHARACTERS:,} characters"
    assert stated in PAGE
    assert f"`{process_file.POLICY_CONFIG_PATH}`" in PAGE


def test_the_example_passes_check_policy_and_every_check_is_listed() -> None:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {"__name__": "example"}
    exec(source.replace("PolicyCapabilities, run", "PolicyCapabilities"), names)
    example = names["Reach"]
    assert isinstance(example, type)
    policy = example()
    assert isinstance(policy, Policy)
    found = check_policy(policy, get_benchmark_spec("metaworld", "SUITE"))
    assert [check for check in found if check.verdict == "fail"] == []
    assert [check.name for check in found if f"`{check.name}`" not in PAGE] == []
