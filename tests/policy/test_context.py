"""Contexts carry the conditions of a run, the policy's seed in both of its places."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.policy import BenchmarkSpec, EpisodeContext, SessionContext, get_benchmark_spec

SPEC: BenchmarkSpec = get_benchmark_spec("libero", "libero_10")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3),
    max_leaves=8,
)
metadata = st.dictionaries(
    st.text(min_size=1).filter(lambda key: key != "policy_seed"), json_values, max_size=3
)
names = st.text(min_size=1, max_size=9)


@given(
    st.builds(
        EpisodeContext,
        episode_id=names,
        task_id=names,
        metadata=metadata,
        policy_seed=st.none() | st.integers(0, 2**63 - 1),
        horizon=st.none() | st.integers(1, 2000),
        control_hz=st.none() | st.floats(0.1, 1000),
        instruction=st.none() | st.text(),
        segment=st.integers(0, 9),
    )
)
def test_an_episode_context_survives_json(context: EpisodeContext) -> None:
    assert EpisodeContext.from_dict(json.loads(json.dumps(context.to_dict()))) == context


@given(metadata)
def test_a_session_context_survives_json(given_metadata: dict[str, Any]) -> None:
    context = SessionContext("session", "", SPEC, given_metadata)
    assert SessionContext.from_dict(json.loads(json.dumps(context.to_dict()))) == context


def test_three_fields_are_enough() -> None:
    context = EpisodeContext("episode", "task", {"index": 3})
    assert (
        context.policy_seed,
        context.horizon,
        context.control_hz,
        context.instruction,
        context.segment,
    ) == (
        None,
        None,
        None,
        None,
        0,
    )


def test_the_policy_seed_stands_in_the_metadata_too() -> None:
    context = EpisodeContext("episode", "task", policy_seed=5)
    assert context.metadata == {"policy_seed": 5}
    assert context.to_dict()["metadata"] == {"policy_seed": 5}


def test_a_policy_seed_in_the_metadata_is_the_policy_seed() -> None:
    assert EpisodeContext.from_dict(
        {"episode_id": "e", "task_id": "t", "metadata": {"policy_seed": 5}}
    ) == EpisodeContext("e", "t", policy_seed=5)


def test_two_policy_seeds_may_not_disagree() -> None:
    with pytest.raises(ValueError, match="policy_seed is 5, its metadata says 6"):
        EpisodeContext("e", "t", {"policy_seed": 6}, policy_seed=5)


def test_no_seed_leaves_the_metadata_alone() -> None:
    assert EpisodeContext("e", "t").metadata == {}


def test_the_callers_metadata_is_copied() -> None:
    given_metadata: dict[str, Any] = {"poses": [[1.0, 2.0]]}
    context = EpisodeContext("e", "t", given_metadata, policy_seed=1)
    given_metadata["poses"][0][0] = 9.0
    assert context.metadata == {"poses": [[1.0, 2.0]], "policy_seed": 1}
    assert "policy_seed" not in given_metadata


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"episode_id": ""}, "EpisodeContext.episode_id must not be empty"),
        ({"task_id": ""}, "EpisodeContext.task_id must not be empty"),
        ({"policy_seed": -1}, "policy_seed must be at least 0, got -1"),
        ({"policy_seed": 2**63}, "policy_seed must be at most 9223372036854775807"),
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"control_hz": 0.0}, "control_hz must be above 0"),
        ({"control_hz": float("inf")}, "control_hz must be finite"),
        ({"segment": -1}, "segment must be at least 0"),
        (
            {"metadata": {"a": {"b": [float("nan")]}}},
            r"EpisodeContext.metadata.a.b\[0\] must be finite, got nan",
        ),
    ],
)
def test_an_episode_context_refuses_wrong_values(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EpisodeContext(**{"episode_id": "e", "task_id": "t", **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"policy_seed": "5"}, "policy_seed must be an int, got str"),
        ({"policy_seed": True}, "policy_seed must be an int, got bool"),
        (
            {"metadata": {"a": np.float64(1).astype("float32")}},
            "metadata.a must hold JSON values only, got float32",
        ),
        ({"metadata": {"a": {1: 2}}}, "key of EpisodeContext.metadata.a must be a str, got int"),
        ({"metadata": [1]}, "EpisodeContext.metadata must be a mapping, got list"),
    ],
)
def test_an_episode_context_refuses_wrong_types(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        EpisodeContext(**{"episode_id": "e", "task_id": "t", **fields})


def test_unknown_fields_belong_in_the_metadata() -> None:
    with pytest.raises(
        ValueError, match="EpisodeContext: unknown field 'policy_sed'; did you mean 'policy_seed'"
    ):
        EpisodeContext.from_dict({"episode_id": "e", "task_id": "t", "policy_sed": 3})
    assert EpisodeContext.from_dict({"episode_id": "e", "task_id": "t", "metadata": {"policy_sed": 3}})


def test_a_session_needs_an_id_and_a_spec() -> None:
    with pytest.raises(ValueError, match=r"SessionContext.session_id must not be empty"):
        SessionContext("", "", SPEC)
    with pytest.raises(TypeError, match=r"SessionContext.benchmark must be of type BenchmarkSpec, got dict"):
        SessionContext("s", "", SPEC.to_dict())  # type: ignore[arg-type]
