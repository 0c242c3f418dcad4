"""Observations in shared memory: where each array lies is said once, and then only that it changed.

Writer and Reader are two ends of one connection. A layout names the features of an observation with dtype,
shape and offset; a query names a layout and where in the memory its arrays begin. The reader copies every
array out before the policy sees it, so the policy may keep what it gets.

Where sealed memory is not available the same bytes travel in the frame's body.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from mmap import PAGESIZE, mmap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import ProtocolError, RequestRefusedError
from proctor.limits import MAX_LAYOUTS, MAX_SHARED_BYTES
from proctor.policy.observation import FeatureValue, Observation
from proctor.wire.arrays import DTYPES, array_bytes, copier, dtype_name
from proctor.wire.local import memory
from proctor.wire.local.messages import FeatureLayout, Layout, Memory, Query

_ALIGNMENT: Final = 64
"""Arrays begin on cache lines."""

Announce = Callable[[Memory | Layout, int | None], None]
"""Sends a message that has no answer, with a descriptor or without."""
_Copier = tuple[str, Callable[[], NDArray[Any]]]
"""Name of a feature, and what copies its array out."""


class _WritePlan:
    """One layout as its writer uses it."""

    def __init__(self, layout: Layout) -> None:
        self.number = layout.layout
        self.texts = layout.texts
        self._arrays = [(f.name, DTYPES[f.dtype], tuple(f.shape), f.offset) for f in layout.arrays]
        self.size = max((f.offset + _round_up(_bytes_of(f), _ALIGNMENT) for f in layout.arrays), default=0)
        self._target: mmap | bytearray | None = None
        self._offset = 0
        self._views: list[tuple[str, NDArray[Any]]] = []

    def fits(self, features: dict[str, FeatureValue]) -> bool:
        """Whether an observation has exactly this form."""
        if len(features) != len(self._arrays) + len(self.texts):
            return False
        for name, dtype, shape, _ in self._arrays:
            value = features.get(name)
            if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != shape:
                return False
        return all(isinstance(features.get(name), str) for name in self.texts)

    def write(self, features: dict[str, FeatureValue], target: mmap | bytearray, offset: int) -> None:
        """Copy the arrays of an observation that fits into `target`, from `offset` on."""
        if target is not self._target or offset != self._offset:
            self._target, self._offset = target, offset
            self._views = [
                (name, np.ndarray(shape, dtype, target, offset + begin))
                for name, dtype, shape, begin in self._arrays
            ]
        for name, view in self._views:
            view[...] = features[name]


class ObservationWriter:
    """The client's end."""

    def __init__(self, announce: Announce) -> None:
        self.inline = not memory.AVAILABLE
        """Whether arrays travel in the frame's body."""
        self._announce = announce
        self._memory: mmap | None = None
        self._plans: list[_WritePlan] = []
        self._announced = 0

    def write(self, observations: Sequence[Observation]) -> tuple[tuple[Query, ...], bytes]:
        """Put observations where the reader finds them: the queries to send, and the body to send with them.

        Raises `RequestRefusedError` for what cannot travel.
        """
        plans = [self._plan(observation) for observation in observations]
        if len(plans) > MAX_LAYOUTS and not all(plan in self._plans for plan in plans):
            raise RequestRefusedError(f"observations of more than {MAX_LAYOUTS} forms in one batch")
        size = sum(plan.size for plan in plans)
        _refuse_over(size)
        target = bytearray(size) if self.inline else self._memory_of(size)
        queries, offset = [], 0
        for plan, observation in zip(plans, observations, strict=True):
            plan.write(observation.features, target, offset)
            queries.append(_query(observation, plan, offset, self.inline))
            offset += plan.size
        return tuple(queries), bytes(target) if isinstance(target, bytearray) else b""

    def abandon(self) -> None:
        """What was written may still be read, although nobody waits for it: never write there again."""
        self._memory = None

    def _plan(self, observation: Observation) -> _WritePlan:
        for plan in self._plans:
            if plan.fits(observation.features):
                return plan
        layout = layout_of(observation, self._announced % MAX_LAYOUTS)
        plan = _WritePlan(layout)
        _refuse_over(plan.size)
        self._announce(layout, None)
        self._announced += 1
        self._plans = [plan, *(known for known in self._plans if known.number != plan.number)]
        return plan

    def _memory_of(self, size: int) -> mmap:
        if self._memory is None or len(self._memory) < size:
            fd, mapped = memory.create_memory(_round_up(max(size, 1), PAGESIZE))
            try:
                self._announce(Memory(len(mapped)), fd)
            finally:
                os.close(fd)
            self._memory = mapped
        return self._memory


class _ReadPlan:
    """One layout as its reader uses it."""

    def __init__(self, layout: Layout) -> None:
        names = [*(feature.name for feature in layout.arrays), *layout.texts]
        if len(set(names)) < len(names):
            raise ProtocolError("a layout names a feature twice")
        self.size = sum(_bytes_of(feature) for feature in layout.arrays)
        _check_size(self.size)
        self._layout = layout
        self._target: mmap | None = None
        self._offset = 0
        self._copiers: list[_Copier] = []

    def read(self, query: Query, target: mmap | bytearray) -> dict[str, FeatureValue]:
        """Private copies of the arrays, and the texts."""
        if len(query.texts) != len(self._layout.texts):
            raise ProtocolError(f"{len(query.texts)} texts, the layout has {len(self._layout.texts)}")
        features: dict[str, FeatureValue] = {
            name: copy() for name, copy in self._copiers_for(target, query.offset)
        }
        if query.texts:
            features.update(zip(self._layout.texts, query.texts, strict=True))
        return features

    def _copiers_for(self, target: mmap | bytearray, offset: int) -> list[_Copier]:
        """Kept for shared memory, which comes back; a body comes once, and keeping it costs its bytes."""
        if isinstance(target, mmap) and target is self._target and offset == self._offset:
            return self._copiers
        copiers = [(f.name, copier(f.dtype, f.shape, target, offset + f.offset)) for f in self._layout.arrays]
        if isinstance(target, mmap):
            self._target, self._offset, self._copiers = target, offset, copiers
        return copiers


class ObservationReader:
    """The server's end. Everything it is told comes from outside; it raises `ProtocolError` for nonsense."""

    def __init__(self) -> None:
        self._memory: mmap | None = None
        self._plans: dict[int, _ReadPlan] = {}

    def set_memory(self, fd: int, size: int) -> None:
        """Read from this memory from now on; closes `fd`."""
        try:
            self._memory = memory.map_memory(fd, size)
        finally:
            os.close(fd)

    def add_layout(self, layout: Layout) -> None:
        """Remember a layout, in place of the one with the same number."""
        self._plans[layout.layout] = _ReadPlan(layout)

    def read_all(self, queries: Sequence[Query], body: bytearray) -> tuple[Observation, ...]:
        """`read` for each, within the bounds of one."""
        plans = [self._plans.get(query.layout) for query in queries]
        _check_size(sum(plan.size for plan in plans if plan is not None))
        return tuple(self.read(query, body) for query in queries)

    def read(self, query: Query, body: bytearray) -> Observation:
        """The observation, independent of memory and body.

        Raises `RequestRefusedError` for values that an observation may not have.
        """
        plan = self._plans.get(query.layout)
        if plan is None:
            raise ProtocolError(f"layout {query.layout} was not announced")
        target = body if query.inline else self._memory
        if target is None:
            raise ProtocolError("a query points into shared memory before there is any")
        features = plan.read(query, target)
        try:
            return Observation(
                query.episode_id,
                query.step,
                features,
                query.timestamp_s,
                query.inference_index,
                query.seed,
            )
        except (TypeError, ValueError) as error:
            raise RequestRefusedError(str(error)) from error


def layout_of(observation: Observation, number: int) -> Layout:
    """The layout of an observation: arrays in the order of its features, each on a cache line.

    Raises `RequestRefusedError` for an array that cannot travel.
    """
    arrays, texts, offset = [], [], 0
    for name, value in observation.features.items():
        if isinstance(value, str):
            texts.append(name)
            continue
        try:
            feature = FeatureLayout(name, dtype_name(value), value.shape, offset)
            offset += _round_up(_bytes_of(feature), _ALIGNMENT)
        except ProtocolError as error:
            raise RequestRefusedError(f"feature {name!r}: {error}") from None
        arrays.append(feature)
    return Layout(number, tuple(arrays), tuple(texts))


def _query(observation: Observation, plan: _WritePlan, offset: int, inline: bool) -> Query:
    features = observation.features
    texts: Any = tuple([features[name] for name in plan.texts]) if plan.texts else ()
    return Query(
        observation.episode_id,
        observation.step,
        plan.number,
        offset,
        inline,
        observation.inference_index,
        observation.seed,
        observation.timestamp_s,
        texts,
    )


def _refuse_over(size: int) -> None:
    if size > MAX_SHARED_BYTES:
        raise RequestRefusedError(f"observations of {size} bytes; at most {MAX_SHARED_BYTES} travel at once")


def _check_size(size: int) -> None:
    """Arrays may overlap in memory; their copies do not."""
    if size > MAX_SHARED_BYTES:
        raise ProtocolError(f"arrays of {size} bytes; at most {MAX_SHARED_BYTES} travel at once")


def _bytes_of(feature: FeatureLayout) -> int:
    return array_bytes(feature.dtype, feature.shape)


def _round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit
