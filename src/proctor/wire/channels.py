"""How one feature is put on a wire and taken off it again.

A channel has the feature's `spec` as it is beyond the wire (of the wire's size and length), the `path` and
`key` at which it stands in a message, and whether it is `optional`: whether a message may lack it. `to_wire`
gives a value in the server's terms; `from_wire` is the inverse, and raises `RequestRefusedError` saying what
would have fitted.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.errors import ProtocolError, RequestRefusedError
from proctor.limits import MAX_IMAGE_PIXELS
from proctor.policy.observation import FeatureValue
from proctor.policy.spec import FeatureSpec
from proctor.wire.images import decode_image, encode_image, resize
from proctor.wire.mapping import ImageMapping
from proctor.wire.paths import Path


@dataclasses.dataclass(frozen=True)
class ImageChannel:
    """A camera frame, raw (height × width × 3, or 3 × height × width) or as bytes of PNG or JPEG."""

    spec: FeatureSpec
    path: Path
    key: str
    optional: bool
    size: tuple[int, int] | None
    how: Literal["pad", "stretch"]
    layout: Literal["hwc", "chw"]
    codec: str

    @classmethod
    def make(cls, spec: FeatureSpec, path: Path, entry: ImageMapping) -> ImageChannel:
        """As a mapping says."""
        seen = spec if entry.size is None else dataclasses.replace(spec, shape=(*entry.size, 3))
        return cls(seen, path, entry.key, entry.optional, entry.size, entry.resize, entry.layout, entry.codec)

    def to_wire(self, value: FeatureValue) -> Any:
        """The frame, resized, laid out and encoded as the mapping says."""
        frame: Any = value if self.size is None else resize(_array(value), self.size, self.how)
        if self.codec != "raw":
            return encode_image(frame, self.codec)
        return frame if self.layout == "hwc" else np.ascontiguousarray(frame.transpose(2, 0, 1))

    def from_wire(self, value: Any) -> FeatureValue:
        """The frame as height × width × 3."""
        if self.codec != "raw":
            return self._fitting(self._decoded(value))
        if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != 3:
            raise RequestRefusedError(f"{_what(self)} must be a uint8 image, got {_describe(value)}")
        if self.layout == "chw":
            value = np.ascontiguousarray(value.transpose(1, 2, 0))
        return self._fitting(value)

    def _decoded(self, value: Any) -> NDArray[np.uint8]:
        if not isinstance(value, bytes):
            raise RequestRefusedError(f"{_what(self)} must be the bytes of an image, got {_describe(value)}")
        try:
            return decode_image(value, max_pixels=self._most_pixels)
        except ProtocolError as error:
            raise RequestRefusedError(f"{_what(self)}: {error}") from None

    @property
    def _most_pixels(self) -> int:
        """What fits is known before anything is decoded."""
        height, width, *_ = self.spec.shape or (None, None)
        return MAX_IMAGE_PIXELS if height is None or width is None else height * width

    def _fitting(self, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
        _check_shape(self, frame.shape)
        return frame


@dataclasses.dataclass(frozen=True)
class StateChannel:
    """A vector, or a part of one; a `dtype` of None leaves it as it is."""

    spec: FeatureSpec
    path: Path
    key: str
    optional: bool
    dtype: str | None
    indices: tuple[int, ...] | None

    def to_wire(self, value: FeatureValue) -> Any:
        """The values that the mapping takes, of its dtype."""
        array = _array(value)
        if self.indices is not None:
            array = array[..., list(self.indices)]
        return array if self.dtype is None else array.astype(self.dtype, copy=False)

    def from_wire(self, value: Any) -> FeatureValue:
        """The vector in the feature's own dtype; a list of numbers is taken for one."""
        array = numbers(value)
        if array is None:
            raise RequestRefusedError(f"{_what(self)} must be numbers, got {_describe(value)}")
        _check_shape(self, array.shape)
        with np.errstate(over="ignore"):
            return array.astype(self.spec.dtype or self.dtype or array.dtype, copy=False)


@dataclasses.dataclass(frozen=True)
class TextChannel:
    """The instruction."""

    spec: FeatureSpec
    path: Path
    key: str
    optional: bool = False

    def to_wire(self, value: FeatureValue) -> Any:
        """The text itself."""
        return value

    def from_wire(self, value: Any) -> FeatureValue:
        """The text itself."""
        if not isinstance(value, str):
            raise RequestRefusedError(f"{_what(self)} must be text, got {_describe(value)}")
        return value


Channel = ImageChannel | StateChannel | TextChannel
"""One feature at one place of a message."""


def numbers(value: Any) -> NDArray[Any] | None:
    """An array of numbers, from one or from lists of them; None for anything else."""
    if isinstance(value, (list, tuple)):
        try:
            value = np.asarray(value)
        except ValueError:
            return None
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
        return None
    return value.astype(value.dtype.newbyteorder("="), copy=False)


def _array(value: FeatureValue) -> NDArray[Any]:
    if isinstance(value, str):
        raise ProtocolError("text stands where an array should")
    return value


def _check_shape(channel: Channel, shape: tuple[int, ...]) -> None:
    wanted = channel.spec.shape
    if wanted is None:
        return
    if len(shape) != len(wanted) or any(
        size not in (None, given) for given, size in zip(shape, wanted, strict=True)
    ):
        sizes = " × ".join("any" if size is None else str(size) for size in wanted)
        raise RequestRefusedError(f"{_what(channel)} has shape {shape}; {sizes} would fit")


def _what(channel: Channel) -> str:
    return f"{channel.key!r} ({channel.spec.name})"


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    return f"{type(value).__name__}"
