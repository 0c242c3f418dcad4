"""How large messages may be, from what a benchmark and a mapping declare."""

from __future__ import annotations

import math
from typing import Final

from proctor.limits import MAX_CHUNK_STEPS, MAX_IMAGE_PIXELS, MESSAGE_SPARE_BYTES
from proctor.policy.spec import BenchmarkSpec, FeatureKind, FeatureSpec

_WIDEST: Final = 8
"""Bytes of one number, where a server or client prefers float64."""

_UNKNOWN_LENGTH: Final = 4096
"""Numbers in a vector whose length is not declared."""


def reply_bytes(benchmark: BenchmarkSpec) -> int:
    """Most bytes of a reply: the longest chunk in float64, and what stands beside it."""
    dimension = benchmark.action.dimension or _UNKNOWN_LENGTH // _WIDEST
    return MESSAGE_SPARE_BYTES + _WIDEST * MAX_CHUNK_STEPS * dimension


def request_bytes(benchmark: BenchmarkSpec) -> int:
    """Most bytes of a request: twice the features, since clients send cameras that nobody asked for."""
    return MESSAGE_SPARE_BYTES + 2 * sum(_feature_bytes(feature) for feature in benchmark.features)


def _feature_bytes(feature: FeatureSpec) -> int:
    if feature.kind is FeatureKind.LANGUAGE:
        return 0
    if feature.kind is FeatureKind.IMAGE:
        return 3 * MAX_IMAGE_PIXELS if feature.shape is None else _elements(feature.shape, 4096)
    return _WIDEST * _elements(feature.shape or (None,), _UNKNOWN_LENGTH)


def _elements(shape: tuple[int | None, ...], unknown: int) -> int:
    return math.prod(size or unknown for size in shape)
