"""What a benchmark promises to a policy: features, action, identity.

All value types of this package are frozen dataclasses. They raise `TypeError` for a value of the wrong type
and `ValueError` for a wrong value, in the constructor and in `from_dict` alike. `to_dict` returns JSON types
(tuples become lists); `from_dict` refuses unknown fields and never fills in a required one. Newer senders may
add information under `metadata` only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from proctor.policy import _fields
from proctor.policy.vocabulary import Vocabulary

ARRAY_KINDS: Final = "biuf"
"""Kinds of numpy dtypes that a feature or an action may have: bool, int, uint, float."""
PRIVILEGED: Final = "privileged."
"""Prefix of features that exist for scripted experts and are off unless a policy names them."""


class BenchmarkName(Vocabulary):
    """Benchmarks with a well-known contract. Plug-in benchmarks use plain strings."""

    LIBERO = "libero"
    LIBERO_PLUS = "libero_plus"
    ROBOCASA = "robocasa"
    ROBOTWIN = "robotwin"
    CALVIN = "calvin"
    METAWORLD = "metaworld"


class FeatureKind(Vocabulary):
    """What a feature is: a camera frame, numbers, or text."""

    IMAGE = "image"
    STATE = "state"
    LANGUAGE = "language"


def canonical_name(field: str, value: object) -> str:
    """`value` as a `BenchmarkName` where it is one, else as the non-empty str it is."""
    name = _fields.text(field, value)
    known = {member.value: member for member in BenchmarkName}
    return known.get(str(name), str(name))


@dataclass(frozen=True)
class FeatureSpec:
    """One named observation value.

    `dtype` is a numpy dtype name; None leaves it unchecked, and language has none. A dimension of None in
    `shape` may have any size; a `shape` of None is unchecked. `required` features are in every observation.
    """

    name: str
    kind: FeatureKind
    required: bool = True
    description: str = ""
    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None

    def __post_init__(self) -> None:
        _fields.text("FeatureSpec.name", self.name)
        object.__setattr__(self, "kind", FeatureKind(self.kind))
        _fields.truth("FeatureSpec.required", self.required)
        _fields.text("FeatureSpec.description", self.description, empty=True)
        if self.dtype is not None:
            _check_dtype("FeatureSpec.dtype", self.dtype, language=self.kind is FeatureKind.LANGUAGE)
        if self.shape is not None:
            object.__setattr__(self, "shape", _shape(self.shape))

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "name": self.name,
            "kind": self.kind.value,
            "required": self.required,
            "description": self.description,
            "dtype": self.dtype,
            "shape": None if self.shape is None else list(self.shape),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FeatureSpec:
        """Inverse of `to_dict`."""
        return cls(**_fields.arguments(cls, data))


@dataclass(frozen=True)
class ActionSpec:
    """The action vector a benchmark applies.

    `dtype` is a numpy dtype name; a `dimension` of None is unchecked. `low` and `high` are optional bounds,
    one per dimension, in the action's own units. What happens to a value outside is the benchmark's rule.
    """

    name: str
    description: str = ""
    dimension: int | None = None
    dtype: str = "float32"
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _fields.text("ActionSpec.name", self.name)
        _fields.text("ActionSpec.description", self.description, empty=True)
        _fields.optional_whole("ActionSpec.dimension", self.dimension, minimum=1)
        _check_dtype("ActionSpec.dtype", self.dtype)
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self._bound(name))
        if self.low and self.high:
            _ordered(self.low, self.high)

    def _bound(self, name: str) -> tuple[float, ...]:
        field = f"ActionSpec.{name}"
        values = _fields.sequence(field, getattr(self, name))
        if self.dimension is None or len(values) != self.dimension:
            raise ValueError(f"{field} needs one value per dimension: {len(values)} for {self.dimension}")
        return tuple(_fields.finite(f"{field}[{index}]", value) for index, value in enumerate(values))

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "name": self.name,
            "description": self.description,
            "dimension": self.dimension,
            "dtype": self.dtype,
            "low": None if self.low is None else list(self.low),
            "high": None if self.high is None else list(self.high),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ActionSpec:
        """Inverse of `to_dict`."""
        return cls(**_fields.arguments(cls, data))


@dataclass(frozen=True)
class BenchmarkSpec:
    """Everything a policy is told about a benchmark when it loads. Data, never looked up by name."""

    name: str
    suite: str
    protocol_version: str
    features: tuple[FeatureSpec, ...]
    action: ActionSpec
    supported_action_representations: tuple[str, ...]
    default_action_representation: str
    alternatives: tuple[ActionSpec, ...] = ()
    """Actions of the other representations, each named by its own; `action` is that of the one in use."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", canonical_name("BenchmarkSpec.name", self.name))
        _fields.text("BenchmarkSpec.suite", self.suite)
        _fields.text("BenchmarkSpec.protocol_version", self.protocol_version)
        object.__setattr__(self, "features", _features(self.features))
        _fields.instance("BenchmarkSpec.action", self.action, ActionSpec)
        field = "BenchmarkSpec.supported_action_representations"
        representations = _fields.texts(field, self.supported_action_representations)
        _fields.non_empty(field, representations)
        object.__setattr__(self, "supported_action_representations", representations)
        if self.default_action_representation not in representations:
            raise ValueError(
                f"BenchmarkSpec.default_action_representation {self.default_action_representation!r} is not"
                f" one of the supported ones: {', '.join(representations)}"
            )

        object.__setattr__(self, "alternatives", _alternatives(self))

    def using(self, representation: str) -> BenchmarkSpec:
        """The same benchmark with the action of another representation in use.

        A spec that does not describe it, as it has one action for all of them, stays what it is.
        """
        actions = {action.name: action for action in (self.action, *self.alternatives)}
        if representation == self.action.name or representation not in actions:
            return self
        in_use = actions.pop(representation)
        others = (actions[name] for name in self.supported_action_representations if name in actions)
        return dataclasses.replace(self, action=in_use, alternatives=tuple(others))

    def feature(self, name: str) -> FeatureSpec | None:
        """The feature of that name, or None."""
        return next((feature for feature in self.features if feature.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """JSON form. Without alternatives it is the one that every SDK of this shape reads."""
        others = {"alternatives": [action.to_dict() for action in self.alternatives]}
        return {
            "name": str(self.name),
            "suite": self.suite,
            "protocol_version": self.protocol_version,
            "features": [feature.to_dict() for feature in self.features],
            "action": self.action.to_dict(),
            "supported_action_representations": list(self.supported_action_representations),
            "default_action_representation": self.default_action_representation,
            **(others if self.alternatives else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BenchmarkSpec:
        """Inverse of `to_dict`. Missing representations are an error for every benchmark alike."""
        values = _fields.arguments(cls, data)
        features = _fields.sequence("BenchmarkSpec.features", values["features"])
        values["features"] = tuple(FeatureSpec.from_dict(feature) for feature in features)
        values["action"] = ActionSpec.from_dict(values["action"])
        others = _fields.sequence("BenchmarkSpec.alternatives", values.get("alternatives", ()))
        values["alternatives"] = tuple(ActionSpec.from_dict(action) for action in others)
        return cls(**values)


def _alternatives(spec: BenchmarkSpec) -> tuple[ActionSpec, ...]:
    field, valid = "BenchmarkSpec.alternatives", spec.supported_action_representations
    actions = _fields.sequence(field, spec.alternatives)
    for index, action in enumerate(actions):
        _fields.instance(f"{field}[{index}]", action, ActionSpec)
        if action.name not in valid:
            unknown = _fields.unknown("action representation", action.name, valid)
            raise ValueError(f"{field}[{index}].name: {unknown}")
    again = _fields.repeated([spec.action.name, *(action.name for action in actions)])
    if again:
        raise ValueError(f"{field}: {', '.join(again)} described more than once")
    return actions


def _check_dtype(field: str, name: object, *, language: bool = False) -> None:
    text = _fields.text(field, name)
    if language:
        return
    try:
        known = np.dtype(text).kind in ARRAY_KINDS
    except TypeError:
        known = False
    if not known:
        raise ValueError(f"{field} {text!r} is not the numpy name of a bool, int, uint or float dtype")


def _shape(value: object) -> tuple[int | None, ...]:
    field = "FeatureSpec.shape"
    sizes = enumerate(_fields.sequence(field, value))
    return tuple(_fields.optional_whole(f"{field}[{index}]", size, minimum=1) for index, size in sizes)


def _ordered(low: tuple[float, ...], high: tuple[float, ...]) -> None:
    for index, (least, most) in enumerate(zip(low, high, strict=True)):
        if least > most:
            raise ValueError(f"ActionSpec.low[{index}] = {least} is above high[{index}] = {most}")


def _features(value: object) -> tuple[FeatureSpec, ...]:
    field = "BenchmarkSpec.features"
    features = _fields.sequence(field, value)
    _fields.non_empty(field, features)
    for index, feature in enumerate(features):
        _fields.instance(f"{field}[{index}]", feature, FeatureSpec)
    _fields.texts(field, [feature.name for feature in features])
    return features
