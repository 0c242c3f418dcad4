"""Frames byte for byte, and what is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proctor.errors import ProtocolError
from proctor.wire import numpy_msgpack
from proctor.wire.arrays import DTYPES
from proctor.wire.images import decode_image, encode_image
from proctor.wire.vla_eval.codec import decode_frame, decode_payload, encode_frame

DTYPE = st.sampled_from(sorted(DTYPES))


def payload_of(frame: bytes) -> dict:
    return decode_payload(decode_frame(frame).payload)


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode(value))


def test_an_array_is_a_map_with_text_keys() -> None:
    frame = encode_frame("action", {"x": np.arange(3, dtype=np.float32)}, 1, 0.5)
    data = np.arange(3, dtype=np.float32).tobytes()
    array = b"\x81\xa1x\x84\xab__ndarray__\xc3\xa4data\xc4\x0c" + data + b"\xa5dtype\xa3<f4\xa5shape\x91\x03"
    assert bytes(decode_frame(frame).payload) == array


def test_a_frame_has_the_four_fields() -> None:
    frame = encode_frame("hello", {"protocol_version": 1}, 7, 0.5)
    assert msgspec.msgpack.decode(frame) == {
        "type": "hello",
        "payload": {"protocol_version": 1},
        "seq": 7,
        "timestamp": 0.5,
    }


@given(DTYPE.flatmap(lambda name: arrays.arrays(DTYPES[name], arrays.array_shapes(min_dims=0, min_side=0))))
def test_an_array_survives(array: np.ndarray) -> None:
    again = payload_of(encode_frame("action", {"actions": array}, 1, 0.0))["actions"]
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()
    assert again.flags.writeable


def test_a_raw_frame_travels_as_an_array_and_an_encoded_one_as_an_image() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    sent = encode_frame("observation", {"images": {"a": frame, "b": encode_image(frame, "png")}}, 1, 0.0)
    images = payload_of(sent)["images"]
    np.testing.assert_array_equal(images["a"], frame)
    assert (images["b"]["__image__"], images["b"]["format"]) == (True, "png")
    assert images["b"]["shape"] == [4, 6, 3]
    np.testing.assert_array_equal(decode_image(images["b"]["data"]), frame)


def test_a_jpeg_says_that_it_is_one() -> None:
    jpeg = encode_image(np.zeros((4, 6, 3), np.uint8), "jpeg:90")
    images = payload_of(encode_frame("observation", {"images": [jpeg]}, 1, 0.0))["images"]
    assert images[0]["format"] == "jpeg"


@pytest.mark.parametrize("value", [object(), np.zeros(1, object), np.zeros(1, "c8"), b"no image", 1 << 64])
def test_other_values_do_not_travel(value: object) -> None:
    with pytest.raises(ProtocolError):
        encode_frame("observation", {"x": value}, 1, 0.0)


@pytest.mark.parametrize(
    ("value", "whose"),
    [
        ({"actions": {b"__ndarray__": True, b"data": b"", b"dtype": "<f4", b"shape": [0]}}, "openpi's"),
        ({"actions": {b"nd": True, b"type": "<f4"}}, "lebedov's msgpack_numpy"),
        ({"actions": {"__numpy__": "AAAA", "dtype": "<f4", "shape": [1]}}, "json_numpy"),
        ({"actions": {"__evo_type__": "ndarray"}}, "the EvoStudio SDK's JSON"),
        ({"actions": {b"other": 1}}, "a map with bytes keys"),
    ],
)
def test_foreign_encodings_are_named(value: object, whose: str) -> None:
    with pytest.raises(ProtocolError, match=f"payload.actions .*{whose}"):
        decode_payload(raw(value))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"dtype": "|O"}, "does not travel"),
        ({"shape": [4]}, "takes 16 bytes, got 12"),
        ({"shape": [-3]}, "Expected `int` >= 0"),
        ({"shape": [1] * 9}, "length <= 8"),
        ({"data": "text"}, "Expected `bytes`"),
        ({"dtype": None}, "Expected `str`"),
    ],
)
def test_an_array_that_does_not_fit_itself_is_refused(change: dict[str, object], problem: str) -> None:
    array = {"__ndarray__": True, "data": bytes(12), "dtype": "<f4", "shape": [3], **change}
    with pytest.raises(ProtocolError, match=problem):
        decode_payload(raw({"actions": array}))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        "text",
        msgspec.msgpack.encode([1, 2]),
        msgspec.msgpack.encode({"type": "action", "payload": {}, "seq": 1}),
        msgspec.msgpack.encode({"type": "action", "payload": {}, "seq": "1", "timestamp": 0.0}),
        numpy_msgpack.encode({"actions": np.zeros(3)}),
    ],
)
def test_what_is_no_frame_is_refused(data: bytes | str) -> None:
    with pytest.raises(ProtocolError):
        decode_frame(data)


@pytest.mark.parametrize(
    "bomb",
    [
        b"\x91" * 200_000 + b"\x90",
        b"\xdd\xff\xff\xff\xff" + b"\x90" * 1000,
        b"\xdd\x00\x98\x96\x80" + b"\x90" * 10_000_000,
        b"\xdf\xff\xff\xff\xff",
    ],
    ids=["deep", "announced", "empty lists", "announced map"],
)
def test_bombs_are_refused(bomb: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_payload(msgspec.Raw(b"\x81\xa1x" + bomb))


KEY = st.sampled_from(["__ndarray__", "data", "dtype", "shape", "actions"])
LEAF = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.binary() | st.text(max_size=8)
PAYLOAD = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEY, inner, max_size=5),
    max_leaves=12,
)


@given(st.binary(max_size=60) | PAYLOAD.map(msgspec.msgpack.encode))
def test_only_the_documented_exception_escapes(data: bytes) -> None:
    for decode in (decode_frame, lambda data: decode_payload(msgspec.Raw(data))):
        try:
            decode(data)
        except ProtocolError:
            continue
