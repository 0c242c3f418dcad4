"""Bytes of the episode protocol, both ways. Nothing here reads or writes a socket.

Images are base64 (standard alphabet, padded, no data-URI prefix) of JPEG or PNG. States are lists of numbers;
JSON has no NaN and no infinity, so they do not travel.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping as Map
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import quote, unquote

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from proctor.errors import InvalidActionError, ProtocolError, RequestRefusedError, UsageError
from proctor.limits import MAX_BODY_BYTES, MAX_EPISODE_TEXT_BYTES
from proctor.policy.spec import BenchmarkSpec, FeatureKind
from proctor.wire.episode_http.messages import StepReply
from proctor.wire.mapper import Mapper
from proctor.wire.mapping import Mapping
from proctor.wire.paths import build, parse_path

_IMAGE_SPARE_BYTES: Final = 4096
"""Headers of a PNG or JPEG that compress nothing."""
_NUMBER_BYTES: Final = 32
"""The longest number in JSON that a float64 makes, and what separates it from the next."""

_QUOTED: Final = 500
"""Characters of a server's message that are worth a record."""

_Message = TypeVar("_Message")
_Tree = dict[str, Any]


class _Coded(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Error(msgspec.Struct):
    error: _Coded

    def told(self) -> tuple[str, str]:
        return self.error.code, self.error.message


class _Detail(msgspec.Struct):
    detail: str

    def told(self) -> tuple[str, str]:
        return "", self.detail


class _Fault(msgspec.Struct):
    msg: str
    loc: list[str | int] = []


class _Details(msgspec.Struct):
    detail: list[_Fault]

    def told(self) -> tuple[str, str]:
        return "", "; ".join(f"{'.'.join(map(str, fault.loc))}: {fault.msg}" for fault in self.detail)


_ERRORS: Final[tuple[type[_Error | _Detail | _Details], ...]] = (_Error, _Detail, _Details)


def encode(message: msgspec.Struct) -> bytes:
    """The body for a message."""
    return msgspec.json.encode(message)


def decode_request(body: bytes, kind: type[_Message]) -> _Message:
    """The message in a request's body. Raises `RequestRefusedError` naming the field that is wrong."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RequestRefusedError(f"body: {error}") from None


def decode_reply(body: bytes, kind: type[_Message]) -> _Message:
    """The message in a reply's body. Raises `ProtocolError` naming the field that is wrong."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtocolError(f"reply: {error}; it begins {body[:60]!r}") from None


def decode_action(body: bytes, mapper: Mapper) -> NDArray[Any]:
    """The action in a step's reply: (dimension,), of the benchmark's dtype.

    Raises `InvalidActionError` for what is no flat list of numbers, and for another length than the action
    space has.
    """
    try:
        action = msgspec.json.decode(body, type=StepReply).action
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidActionError(f"reply: {error}; it begins {body[:60]!r}") from None
    spec = mapper.benchmark.action
    if spec.dimension is not None and len(action) != spec.dimension:
        raise InvalidActionError(
            f"bad_action_shape: {spec.name} has {spec.dimension} numbers, the server sent {len(action)}"
        )
    return mapper.cast(action)


def decode_error(body: bytes) -> tuple[str, str]:
    """Code and message of an error: `{"error": {"code", "message"}}`, or `{"detail": ...}` without a code.

    A detail is text, or a list of what is wrong where (FastAPI's, which quotes the whole request too). Never
    raises: what is none of these is its own message.
    """
    for kind in _ERRORS:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            code, message = msgspec.json.decode(body, type=kind).told()
            return code[:_QUOTED], message[:_QUOTED]
    return "", body[:_QUOTED].decode("utf-8", "replace").strip()


def encode_step(step: int, message: Map[str, Any]) -> bytes:
    """The body of a step: what `Mapper.to_wire` made of an observation.

    Raises `RequestRefusedError` for a number that is not finite.
    """
    return _ENCODER.encode({"step": step, "obs": message})


def step_path(episode_id: str) -> str:
    """Where an episode's steps are sent."""
    return f"/episode/{quote(episode_id, safe='')}/step"


def finalize_path(episode_id: str) -> str:
    """Where its end is sent."""
    return f"/episode/{quote(episode_id, safe='')}/finalize"


def parse_episode_path(path: str) -> tuple[str, str] | None:
    """Episode id and action (`step`, `finalize`) of such a path, None for another one."""
    parts = path.split("/")
    if len(parts) != 4 or parts[:2] != ["", "episode"] or parts[3] not in ("step", "finalize"):
        return None
    return unquote(parts[2]), parts[3]


class StepDecoder:
    """Takes bodies of steps apart, by the keys of a mapping: nothing else in them is kept, or even built."""

    def __init__(self, mapping: Mapping) -> None:
        """Raises `UsageError` for a mapping that this protocol cannot carry."""
        check_mapping(mapping)
        self._paths = [(parse_path(key, mapping.name), kind) for key, kind in _keys(mapping)]
        tree: _Tree = {}
        for path, kind in self._paths:
            node = tree
            for part in path[:-1]:
                node = node.setdefault(str(part), {})
            node[str(path[-1])] = kind
        step = Annotated[int, msgspec.Meta(ge=0)]
        self._decoder = msgspec.json.Decoder(
            msgspec.defstruct("StepRequest", [("step", step), ("obs", _struct_of(tree))], frozen=True)
        )

    def decode(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Step and observation, as `Mapper.from_wire` takes it: images as bytes, states as lists.

        Raises `RequestRefusedError` naming the field that is wrong.
        """
        try:
            request: Any = self._decoder.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RequestRefusedError(f"body: {error}") from None
        found = []
        for path, _ in self._paths:
            node = request.obs
            for part in path:
                node = UNSET if node is UNSET else getattr(node, _attribute(str(part)))
            if node is not UNSET:
                found.append((path, node))
        return request.step, build(found)


def check_mapping(mapping: Mapping) -> None:
    """Raise `UsageError` for a mapping that JSON cannot carry."""
    raw = [image.key for image in mapping.images if image.codec == "raw"]
    if raw or mapping.unlisted == "canonical":
        which = f"key {raw[0]!r}" if raw else "unlisted = 'canonical'"
        raise UsageError(
            f"mapping {mapping.name!r}, {which}: images travel encoded over episode-http; set codec to"
            " 'jpeg:85' or 'png'"
        )
    for key, _ in _keys(mapping):
        if any(isinstance(part, int) for part in parse_path(key, mapping.name)):
            raise UsageError(f"mapping {mapping.name!r}, key {key!r}: episode-http has no lists of features")


def largest_step(mapper: Mapper) -> int:
    """Bytes that the body of a step may have, by the shapes that the benchmark declares."""
    size = MAX_EPISODE_TEXT_BYTES
    for height, width, _ in mapper.image_shapes:
        if height is None or width is None:
            return MAX_BODY_BYTES
        size += (height * width * 3 + _IMAGE_SPARE_BYTES) * 4 // 3
    return size + _NUMBER_BYTES * _numbers(mapper.benchmark)


def _numbers(benchmark: BenchmarkSpec) -> int:
    """Numbers in all states together; what a benchmark leaves open gets as much room as text."""
    states = (feature.shape for feature in benchmark.features if feature.kind is FeatureKind.STATE)
    open_size = MAX_EPISODE_TEXT_BYTES // _NUMBER_BYTES
    return sum(math.prod(size or open_size for size in shape or (None,)) for shape in states)


def _keys(mapping: Mapping) -> list[tuple[str, Any]]:
    keys: list[tuple[str, Any]] = [(image.key, bytes) for image in mapping.images]
    keys += [(state.key, list[float]) for state in mapping.states]
    return keys if mapping.instruction is None else [*keys, (mapping.instruction, str)]


def _struct_of(tree: _Tree) -> type[msgspec.Struct]:
    """A struct with these keys, each of which may be missing."""
    fields: list[tuple[str, Any, Any]] = []
    for key, kind in tree.items():
        inner = _struct_of(kind) if isinstance(kind, dict) else kind
        fields.append((_attribute(key), inner | UnsetType, UNSET))
    names = {_attribute(key): key for key in tree}
    return msgspec.defstruct("Observation", fields, rename=names, frozen=True)


def _attribute(key: str) -> str:
    return "key_" + key.encode().hex()


def _listed(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        raise NotImplementedError(f"{type(value).__name__} does not travel")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise RequestRefusedError("a state holds NaN or infinity, which JSON cannot carry")
    return value.tolist()


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_listed)
