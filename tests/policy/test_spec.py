"""Specs refuse what no benchmark could mean, and survive JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.policy import ActionSpec, BenchmarkName, BenchmarkSpec, FeatureKind, FeatureSpec

IMAGE = FeatureSpec("images.top", FeatureKind.IMAGE, dtype="uint8", shape=(None, 8, 3))
ACTION = ActionSpec("joints", "radians", 2, low=(-1.0, -2.0), high=(1.0, 2.0))


def spec(**changes: Any) -> BenchmarkSpec:
    fields: dict[str, Any] = {
        "name": "toy",
        "suite": "all",
        "protocol_version": "toy-v1",
        "features": (IMAGE,),
        "action": ACTION,
        "supported_action_representations": ("toy.joints-v1", "toy.pose-v1"),
        "default_action_representation": "toy.joints-v1",
    }
    return BenchmarkSpec(**{**fields, **changes})


names = st.text(min_size=1, max_size=12)
shapes = st.none() | st.lists(st.none() | st.integers(1, 999), max_size=4).map(tuple)
features = st.builds(
    FeatureSpec,
    name=names,
    kind=st.sampled_from(FeatureKind),
    required=st.booleans(),
    description=st.text(max_size=20),
    dtype=st.sampled_from([None, "uint8", "float32", "int64", "bool"]),
    shape=shapes,
)


@st.composite
def actions(draw: st.DrawFn) -> ActionSpec:
    dimension = draw(st.integers(1, 4))
    lows = draw(st.none() | st.tuples(*[st.floats(-9, 0)] * dimension))
    highs = draw(st.none() | st.tuples(*[st.floats(0, 9)] * dimension))
    return ActionSpec(draw(names), draw(st.text(max_size=9)), dimension, "float32", lows, highs)


specs = st.builds(
    lambda name, suite, given, action, choices: BenchmarkSpec(
        name, suite, "v1", tuple(given), action, tuple(choices), choices[0]
    ),
    names | st.sampled_from(BenchmarkName),
    names,
    st.lists(features, min_size=1, max_size=4, unique_by=lambda feature: feature.name),
    actions(),
    st.lists(names, min_size=1, max_size=3, unique=True),
)


@given(specs)
def test_a_spec_survives_json(original: BenchmarkSpec) -> None:
    assert BenchmarkSpec.from_dict(json.loads(json.dumps(original.to_dict()))) == original


POSE = ActionSpec("toy.pose-v1", "metres", 3)
JOINTS = ActionSpec("toy.joints-v1", "radians", 2)


def test_a_spec_with_alternatives_survives_json() -> None:
    original = spec(action=JOINTS, alternatives=(POSE,))
    assert BenchmarkSpec.from_dict(json.loads(json.dumps(original.to_dict()))) == original


def test_a_spec_without_alternatives_does_not_mention_them() -> None:
    assert "alternatives" not in spec().to_dict()


def test_using_another_representation_puts_its_action_in_use_and_back() -> None:
    original = spec(action=JOINTS, alternatives=(POSE,))
    other = original.using("toy.pose-v1")
    assert (other.action, other.alternatives) == (POSE, (JOINTS,))
    assert other.default_action_representation == "toy.joints-v1"
    assert other.using("toy.joints-v1") == original


@pytest.mark.parametrize("representation", ["toy.joints-v1", "toy.pose-v1", "toy.unheard-of-v1"])
def test_a_spec_with_one_action_for_all_stays_what_it_is(representation: str) -> None:
    assert spec().using(representation) == spec()


@pytest.mark.parametrize(
    ("alternatives", "problem"),
    [
        ((ActionSpec("toy.poze-v1"),), r"alternatives\[0\]\.name: .*did you mean 'toy\.pose-v1'"),
        ((POSE, POSE), r"alternatives: toy\.pose-v1 described more than once"),
        ((JOINTS,), r"alternatives: toy\.joints-v1 described more than once"),
    ],
)
def test_alternatives_are_other_representations_of_the_benchmark(
    alternatives: tuple[ActionSpec, ...], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        spec(action=JOINTS, alternatives=alternatives)


def test_alternatives_are_action_specs() -> None:
    with pytest.raises(TypeError, match=r"alternatives\[0\] must be of type ActionSpec, got str"):
        spec(alternatives=("toy.pose-v1",))


def test_defaults_are_those_of_the_sdk() -> None:
    feature = FeatureSpec("images.top", FeatureKind.IMAGE)
    assert (feature.required, feature.description, feature.dtype, feature.shape) == (True, "", None, None)
    assert ActionSpec("joints", "", None).dtype == "float32"


def test_lists_become_tuples() -> None:
    feature = FeatureSpec.from_dict({"name": "state.joints", "kind": "state", "shape": [None, 3]})
    assert feature.shape == (None, 3)


@pytest.mark.parametrize("name", list(BenchmarkName))
def test_known_names_become_members_which_are_their_strings(name: BenchmarkName) -> None:
    made = spec(name=name.value).name
    assert made is name
    assert (str(made), f"{made}", {made: 1}[name.value]) == (name.value, name.value, 1)


def test_to_dict_holds_plain_strings() -> None:
    assert type(spec(name=BenchmarkName.LIBERO).to_dict()["name"]) is str


def test_feature_is_found_by_name() -> None:
    assert spec().feature("images.top") is IMAGE
    assert spec().feature("images.topp") is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "FeatureSpec.name must not be empty"),
        ({"kind": "imag"}, "unknown FeatureKind 'imag'; did you mean 'image'"),
        ({"dtype": ""}, "FeatureSpec.dtype must not be empty"),
        ({"dtype": "flaot32"}, "'flaot32' is not the numpy name"),
        ({"dtype": "object"}, "'object' is not the numpy name"),
        ({"dtype": "complex64"}, "'complex64' is not the numpy name"),
        ({"shape": (0, 3)}, r"FeatureSpec.shape\[0\] must be at least 1, got 0"),
    ],
)
def test_a_feature_refuses_wrong_values(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FeatureSpec(**{"name": "images.top", "kind": "image", **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 3}, "FeatureSpec.name must be a str, got int"),
        ({"required": 1}, "FeatureSpec.required must be a bool, got int"),
        ({"shape": 3}, "FeatureSpec.shape must be a tuple or list, got int"),
        ({"shape": (True,)}, r"FeatureSpec.shape\[0\] must be an int, got bool"),
        ({"shape": (1.0,)}, r"FeatureSpec.shape\[0\] must be an int, got float"),
    ],
)
def test_a_feature_refuses_wrong_types(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        FeatureSpec(**{"name": "images.top", "kind": "image", **fields})


def test_language_may_name_any_dtype_since_it_is_never_an_array() -> None:
    assert FeatureSpec("language.instruction", FeatureKind.LANGUAGE, dtype="string").dtype == "string"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dimension": 0}, "ActionSpec.dimension must be at least 1"),
        ({"dtype": "float31"}, "'float31' is not the numpy name"),
        ({"low": (0.0,)}, "ActionSpec.low needs one value per dimension: 1 for 2"),
        ({"dimension": None, "low": (0.0,)}, "ActionSpec.low needs one value per dimension: 1 for None"),
        ({"high": (0.0, float("nan"))}, r"ActionSpec.high\[1\] must be finite, got nan"),
        ({"low": (0.0, 1.0), "high": (1.0, 0.5)}, r"ActionSpec.low\[1\] = 1.0 is above high\[1\] = 0.5"),
    ],
)
def test_an_action_refuses_wrong_values(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ActionSpec(**{"name": "joints", "dimension": 2, **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"suite": ""}, "BenchmarkSpec.suite must not be empty"),
        ({"protocol_version": ""}, "BenchmarkSpec.protocol_version must not be empty"),
        ({"features": ()}, "BenchmarkSpec.features must not be empty"),
        ({"features": (IMAGE, IMAGE)}, "BenchmarkSpec.features must not repeat a name, got images.top"),
        ({"supported_action_representations": ()}, "representations must not be empty"),
        ({"supported_action_representations": ("a", "a")}, "must not repeat a name, got a"),
        ({"default_action_representation": "toy.x-v1"}, "'toy.x-v1' is not one of the supported ones"),
    ],
)
def test_a_benchmark_refuses_wrong_values(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spec(**fields)


def test_a_benchmark_refuses_parts_of_another_type() -> None:
    with pytest.raises(TypeError, match=r"BenchmarkSpec.action must be of type ActionSpec, got dict"):
        spec(action=ACTION.to_dict())
    with pytest.raises(TypeError, match=r"BenchmarkSpec.features\[0\] must be of type FeatureSpec, got str"):
        spec(features=("images.top",))
    with pytest.raises(TypeError, match=r"must be a tuple or list, got str"):
        spec(supported_action_representations="toy.joints-v1")


def test_unknown_fields_are_errors_naming_the_nearest() -> None:
    with pytest.raises(ValueError, match="BenchmarkSpec: unknown field 'feature'; did you mean 'features'"):
        BenchmarkSpec.from_dict({**spec().to_dict(), "feature": []})


@pytest.mark.parametrize("name", ["toy", *BenchmarkName])
def test_missing_representations_are_an_error_for_every_benchmark(name: str) -> None:
    data = spec(name=name).to_dict()
    del data["supported_action_representations"]
    with pytest.raises(ValueError, match="missing field supported_action_representations"):
        BenchmarkSpec.from_dict(data)


@pytest.mark.parametrize("data", [None, [], "spec", {1: 2}])
def test_from_dict_refuses_what_is_not_an_object(data: Any) -> None:
    with pytest.raises(TypeError):
        BenchmarkSpec.from_dict(data)
