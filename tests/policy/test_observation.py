"""An observation holds arrays and text of one moment, and nothing that cannot travel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proctor.policy import Observation

STATE = np.arange(3, dtype=np.float32)


def test_four_fields_are_enough() -> None:
    observation = Observation("e", 0, {"state.joints": STATE, "language.instruction": "go"}, 0.5)
    assert (observation.inference_index, observation.seed) == (0, None)


def test_to_dict_and_back_keeps_the_arrays_themselves() -> None:
    original = Observation("e", 4, {"state.joints": STATE, "language.instruction": "go"}, 0.1, 2, 7)
    again = Observation.from_dict(original.to_dict())
    assert again.features["state.joints"] is STATE
    assert {**again.to_dict(), "features": None} == {**original.to_dict(), "features": None}


def test_equality_is_identity() -> None:
    one, other = Observation("e", 0, {"a": STATE}), Observation("e", 0, {"a": STATE})
    assert one == one
    assert one != other
    assert len({one, other}) == 2


def test_the_features_mapping_is_copied() -> None:
    features: dict[str, Any] = {"state.joints": STATE}
    observation = Observation("e", 0, features)
    features["more"] = "text"
    assert list(observation.features) == ["state.joints"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"episode_id": ""}, "Observation.episode_id must not be empty"),
        ({"step": -1}, "Observation.step must be at least 0"),
        ({"timestamp_s": float("nan")}, "Observation.timestamp_s must be finite"),
        ({"inference_index": -1}, "Observation.inference_index must be at least 0"),
        ({"seed": 2**63}, "Observation.seed must be at most"),
        ({"features": {"": STATE}}, "key of Observation.features must not be empty"),
    ],
)
def test_wrong_values_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Observation(**{"episode_id": "e", "step": 0, "features": {}, **fields})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0], "feature 'x' must be a numpy array or a str, got list"),
        (b"x", "feature 'x' must be a numpy array or a str, got bytes"),
        (np.float32(1), "feature 'x' must be a numpy array or a str, got float32"),
        (np.array([None]), "feature 'x' has dtype object"),
        (np.array(["a"]), "feature 'x' has dtype <U1"),
        (np.array([1j]), "feature 'x' has dtype complex128"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "feature 'x' has dtype datetime64"),
    ],
)
def test_wrong_features_are_refused(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Observation("e", 0, {"x": value})


def test_unknown_fields_are_errors_naming_the_nearest() -> None:
    with pytest.raises(ValueError, match="Observation: unknown field 'feature'; did you mean 'features'"):
        Observation.from_dict({"episode_id": "e", "step": 0, "features": {}, "feature": {}})
