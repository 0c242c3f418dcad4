"""A mapping applied to one benchmark: observations into a server's terms, and back.

`Mapper(mapping, benchmark)` decides once which feature each entry stands for; what a benchmark requires and
the mapping does not mention is refused there, before the first episode.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Map
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import InvalidActionError, RequestRefusedError, UnknownNameError, UsageError
from proctor.policy.chunk import ActionChunk
from proctor.policy.observation import FeatureValue
from proctor.policy.spec import PRIVILEGED, BenchmarkSpec, FeatureKind, FeatureSpec
from proctor.policy.validation import validate_action_chunk
from proctor.wire.channels import Channel, ImageChannel, StateChannel, TextChannel, numbers
from proctor.wire.mapping import ImageMapping, Mapping, StateMapping
from proctor.wire.paths import Path, build, parse_path, refuse_clashes, take

INSTRUCTION: Final = "language.instruction"
"""The feature that `Mapping.instruction` is the key of."""


class Mapper:
    """Puts observations of `benchmark` into the terms of `mapping`, and takes messages apart.

    Raises `UsageError` for a mapping that does not fit the benchmark: a required feature that it does not
    mention, an entry for which the benchmark has no feature, a key that is used twice.
    """

    def __init__(self, mapping: Mapping, benchmark: BenchmarkSpec) -> None:
        self.mapping = mapping
        self.channels: tuple[Channel, ...] = tuple(_channels(mapping, benchmark))
        """What travels, in the order of the mapping."""
        self._constants = tuple(
            (parse_path(key, f"mapping {mapping.name!r}"), value) for key, value in mapping.constants.items()
        )
        self._actions = parse_path(mapping.actions, f"mapping {mapping.name!r}")
        self._refuse_unfit(benchmark)
        self.features: tuple[str, ...] = tuple(dict.fromkeys(c.spec.name for c in self.channels))
        """Names of the features that travel, in the order of the mapping."""
        self.benchmark = self._seen(benchmark)
        """The benchmark as it looks from beyond the wire: what travels, at the size at which it does."""

    @property
    def codec(self) -> str | None:
        """How images change on the way, for the record; None where they do not."""
        used = {
            channel.codec if channel.codec != "raw" else "resized"
            for channel in self.channels
            if isinstance(channel, ImageChannel) and (channel.codec != "raw" or channel.size)
        }
        return ", ".join(sorted(used)) or None

    @property
    def image_shapes(self) -> tuple[tuple[int | None, ...], ...]:
        """Shapes of the frames on the wire as height, width, 3; None where the benchmark leaves one open."""
        shapes = (c.spec.shape for c in self.channels if isinstance(c, ImageChannel))
        return tuple(shape or (None, None, 3) for shape in shapes)

    def to_wire(self, features: Map[str, FeatureValue]) -> dict[str, Any]:
        """The message for these features, constants included; without what is optional and missing.

        Images are arrays or encoded bytes, states arrays, the instruction text. Raises `UsageError` naming a
        feature that is missing.
        """
        return build(self._values(features))

    def from_wire(self, message: Map[str, Any]) -> dict[str, FeatureValue]:
        """The features in a message, as `self.benchmark` describes them. Keys without an entry are ignored.

        Raises `RequestRefusedError` naming key and feature for what is missing or does not fit.
        """
        features = {}
        for channel in self.channels:
            try:
                value = take(message, channel.path)
            except KeyError:
                if channel.optional:
                    continue
                raise RequestRefusedError(
                    f"the message lacks {channel.key!r} ({channel.spec.name}); it has {_keys(message)}"
                ) from None
            features[channel.spec.name] = channel.from_wire(value)
        return features

    def actions_of(self, reply: Map[str, Any]) -> NDArray[Any]:
        """The chunk in a reply, (dimension,) or (n, dimension), cast to the benchmark's action dtype.

        Raises `InvalidActionError` for a reply without one, and for what is no array of numbers or would lose
        more than precision by the cast.
        """
        key = self.mapping.actions
        try:
            value = take(reply, self._actions)
        except KeyError:
            raise InvalidActionError(f"the reply lacks {key!r}; it has {_keys(reply)}") from None
        return self.cast(value)

    def cast(self, value: Any) -> NDArray[Any]:
        """Actions from an array or lists of numbers, as `actions_of`."""
        actions, dtype = numbers(value), np.dtype(self.benchmark.action.dtype)
        if actions is None or not np.can_cast(actions.dtype, dtype, "same_kind"):
            got = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
            raise InvalidActionError(f"{self.mapping.actions!r} must be numbers for {dtype}, got {got}")
        with np.errstate(over="ignore"):  # what overflows is infinite, and refused as such
            return actions.astype(dtype, copy=False)

    def chunk_of(self, reply: Map[str, Any]) -> ActionChunk:
        """`actions_of`, checked against the benchmark's action. Raises `InvalidActionError`."""
        return self.chunk(self.actions_of(reply))

    def chunk(self, actions: NDArray[Any]) -> ActionChunk:
        """A checked chunk from an array of the right dtype. Raises `InvalidActionError`."""
        try:
            chunk = ActionChunk(actions)
        except (TypeError, ValueError) as error:
            raise InvalidActionError(str(error)) from None
        validate_action_chunk(chunk, self.benchmark)
        return chunk

    def reply(self, actions: NDArray[Any]) -> dict[str, Any]:
        """The message that `actions_of` reads."""
        return build([(self._actions, actions)])

    def _values(self, features: Map[str, FeatureValue]) -> Iterator[tuple[Path, Any]]:
        for channel in self.channels:
            value = features.get(channel.spec.name)
            if value is None:
                if channel.optional:
                    continue
                raise UsageError(
                    f"mapping {self.mapping.name!r} sends {channel.spec.name!r}, which the observation lacks;"
                    f" it has {', '.join(sorted(features)) or '(none)'}"
                )
            yield channel.path, channel.to_wire(value)
        yield from self._constants

    def _seen(self, benchmark: BenchmarkSpec) -> BenchmarkSpec:
        known = {feature.name for feature in benchmark.features}
        seen = {channel.spec.name: channel.spec for channel in self.channels if channel.spec.name in known}
        return dataclasses.replace(benchmark, features=tuple(seen.values()))

    def _refuse_unfit(self, benchmark: BenchmarkSpec) -> None:
        where = f"mapping {self.mapping.name!r}"
        keyed = [(channel.path, channel.key) for channel in self.channels]
        refuse_clashes([*keyed, *((path, ".".join(map(str, path))) for path, _ in self._constants)], where)
        mentioned = {name for entry in _entries(self.mapping) for name in entry.feature}
        mentioned.update(channel.spec.name for channel in self.channels)
        for feature in benchmark.features:
            if feature.required and feature.name not in mentioned:
                raise UsageError(
                    f"{where} does not mention {feature.name!r}, which {benchmark.protocol_version} requires;"
                    f" it mentions {', '.join(sorted(mentioned)) or '(none)'}"
                )
        wanted, offered = self.mapping.action_representation, benchmark.supported_action_representations
        if wanted is not None and wanted not in offered:
            raise UnknownNameError(f"action_representation of {where}", wanted, offered)


def _channels(mapping: Mapping, benchmark: BenchmarkSpec) -> Iterator[Channel]:
    used: set[str] = set()
    for channel in (*_listed(mapping, benchmark), *_instruction(mapping, benchmark)):
        used.add(channel.spec.name)
        yield channel
    if mapping.unlisted == "canonical":
        yield from (_canonical(feature) for feature in benchmark.features if feature.name not in used)


def _listed(mapping: Mapping, benchmark: BenchmarkSpec) -> Iterator[Channel]:
    for entry in _entries(mapping):
        where = f"mapping {mapping.name!r}, key {entry.key!r}"
        feature = _resolve(entry, benchmark, where)
        if feature is None:
            continue
        path = parse_path(entry.key, where)
        if isinstance(entry, ImageMapping):
            yield ImageChannel.make(feature, path, entry)
        else:
            seen = feature if entry.indices is None else _selected(feature, entry.indices, where)
            yield StateChannel(seen, path, entry.key, entry.optional, entry.dtype, entry.indices)


def _entries(mapping: Mapping) -> tuple[ImageMapping | StateMapping, ...]:
    return (*mapping.images, *mapping.states)


def _resolve(entry: ImageMapping | StateMapping, benchmark: BenchmarkSpec, where: str) -> FeatureSpec | None:
    kind = FeatureKind.IMAGE if isinstance(entry, ImageMapping) else FeatureKind.STATE
    for name in entry.feature:
        feature = benchmark.feature(name)
        if feature is None and name.startswith(PRIVILEGED):
            return FeatureSpec(name, kind)
        if feature is not None and feature.kind is kind:
            return feature
        if feature is not None:
            raise UsageError(f"{where}: {name!r} is {feature.kind.value}, not {kind.value}")
    if entry.optional:
        return None
    have = [feature.name for feature in benchmark.features if feature.kind is kind]
    raise UsageError(
        f"{where} needs {' or '.join(map(repr, entry.feature))}; {benchmark.protocol_version} has"
        f" {', '.join(have) or 'no such feature'}"
    )


def _selected(feature: FeatureSpec, indices: Sequence[int], where: str) -> FeatureSpec:
    length = feature.shape[-1] if feature.shape else None
    if length is not None and not all(0 <= index < length for index in indices):
        raise UsageError(f"{where}: indices must be from 0 to {length - 1}, the last of {feature.name!r}")
    return dataclasses.replace(feature, shape=(len(indices),))


def _instruction(mapping: Mapping, benchmark: BenchmarkSpec) -> Iterator[Channel]:
    feature = benchmark.feature(INSTRUCTION)
    if mapping.instruction is not None and feature is not None:
        path = parse_path(mapping.instruction, f"mapping {mapping.name!r}, instruction")
        yield TextChannel(feature, path, mapping.instruction)


def _canonical(feature: FeatureSpec) -> Channel:
    path = parse_path(feature.name, "canonical name")
    if feature.kind is FeatureKind.LANGUAGE:
        return TextChannel(feature, path, feature.name, not feature.required)
    if feature.kind is FeatureKind.STATE:
        return StateChannel(feature, path, feature.name, not feature.required, None, None)
    return ImageChannel(feature, path, feature.name, not feature.required, None, "stretch", "hwc", "raw")


def _keys(message: Map[str, Any]) -> str:
    return ", ".join(sorted(repr(key)[:40] for key in list(message)[:16])) or "nothing"
