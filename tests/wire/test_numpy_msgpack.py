"""The packing of the openpi family: exact bytes, arrays of numbers alone, bombs refused for little."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_np

from proctor.errors import ProtocolError
from proctor.limits import MAX_MESSAGE_VALUES
from proctor.wire.numpy_msgpack import Packer, decode, encode

VECTOR = bytes.fromhex(
    "81a17884c40b5f5f6e6461727261795f5fc3c40464617461c40c000000000000803f"
    "00000040c4056474797065a33c6634c40573686170659103"
)
"""{"x": float32 [0, 1, 2]}"""

KINDS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def raw(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


def array(**changes: Any) -> bytes:
    fields = {b"__ndarray__": True, b"data": bytes(12), b"dtype": "<f4", b"shape": [3]}
    fields |= {key.encode(): value for key, value in changes.items()}
    return raw({"x": {key: value for key, value in fields.items() if value is not ...}})


class TestBytes:
    def test_an_array_is_packed_as_openpi_packs_it(self) -> None:
        assert encode({"x": np.array([0, 1, 2], np.float32)}) == VECTOR

    def test_a_scalar_is_packed_as_openpi_packs_it(self) -> None:
        assert encode({"x": np.float32(0.5)}) == raw(
            {"x": {b"__npgeneric__": True, b"data": 0.5, b"dtype": "<f4"}}
        )

    def test_a_float64_scalar_travels_as_a_float(self) -> None:
        assert encode({"x": np.float64(0.5)}) == raw({"x": 0.5})

    def test_tuples_become_lists(self) -> None:
        assert decode(encode({"x": (1, (2, "three"), None, True)})) == {"x": [1, [2, "three"], None, True]}

    def test_an_array_lies_in_c_order(self) -> None:
        image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
        for laid in (image[:, ::-1], np.asfortranarray(image), image.transpose(2, 0, 1)):
            np.testing.assert_array_equal(decode(encode({"x": laid}))["x"], laid)

    def test_big_endian_arrays_are_read_by_value(self) -> None:
        read = decode(array(dtype=">f4", data=np.array([1, 2, 3], ">f4").tobytes()))["x"]
        assert read.tolist() == [1, 2, 3]
        assert read.dtype == np.float32
        assert decode(encode({"x": np.array([1, 2], ">i2")}))["x"].tolist() == [1, 2]

    def test_a_packer_reuses_its_memory(self) -> None:
        packer = Packer()
        first = packer.pack({"x": np.zeros(1000)})
        assert packer.pack({"x": 1}) is first
        assert bytes(first) == encode({"x": 1})

    @given(
        st_np.arrays(
            st.sampled_from([np.dtype(kind) for kind in KINDS]), st_np.array_shapes(min_dims=0, min_side=0)
        )
    )
    def test_every_array_comes_back_writable_and_owned(self, sent: np.ndarray[Any, Any]) -> None:
        got = decode(encode({"x": {"y": [sent]}}))["x"]["y"][0]
        np.testing.assert_array_equal(got, sent)
        assert (got.dtype, got.shape) == (sent.dtype, sent.shape)
        assert got.flags.writeable

    def test_a_scalar_beyond_its_dtype_is_infinite(self) -> None:
        scalar = {b"__npgeneric__": True, b"data": 1e300, b"dtype": "<f4"}
        assert decode(raw({"x": scalar}))["x"] == np.float32("inf")

    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "f8"])
    def test_every_scalar_comes_back(self, kind: str) -> None:
        scalar = np.dtype(kind).type(1)
        got = decode(encode({"x": scalar}))["x"]
        assert got == scalar
        assert got.dtype == scalar.dtype


class TestRefusedToPack:
    @pytest.mark.parametrize(
        "value",
        [
            np.array([None]),
            np.array([1j]),
            np.array(["text"]),
            np.zeros(2, dtype=[("a", "<f4")]),
            np.array(["2026-01-01"], dtype="datetime64[D]"),
            np.complex64(1),
            object(),
            1 << 70,
        ],
    )
    def test_what_is_no_array_of_numbers(self, value: Any) -> None:
        with pytest.raises(ProtocolError):
            encode({"x": value})


class TestForeign:
    @pytest.mark.parametrize(
        ("value", "named"),
        [
            ({b"nd": True, b"type": "<f4", b"kind": b"", b"shape": [1], b"data": bytes(4)}, "XPolicyLab"),
            ({"__ndarray__": True, "data": bytes(4), "dtype": "<f4", "shape": [1]}, "vla-eval"),
            ({"__image__": True, "format": "png", "data": b"", "shape": [1, 1, 3]}, "vla-eval"),
            ({"__numpy__": "AAAAAA==", "dtype": "<f4", "shape": [1]}, "json_numpy"),
            ({"__evo_type__": "ndarray", "dtype": "<f4", "shape": [1], "data": ""}, "EvoStudio"),
        ],
    )
    def test_another_encoding_is_named(self, value: Any, named: str) -> None:
        for message in ({"actions": value}, {"data": {"actions": [value]}}):
            with pytest.raises(ProtocolError, match=named) as refused:
                decode(raw(message))
            assert "actions" in str(refused.value)

    @pytest.mark.parametrize("text", [b'{"actions": []}', b"[1, 2]"])
    def test_json_is_named(self, text: bytes) -> None:
        with pytest.raises(ProtocolError, match="JSON"):
            decode(text)


class TestMalformed:
    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\xc1",
            raw([1]),
            raw("text"),
            raw(3),
            raw({1: 2}),
            raw({b"key": 1}),
            raw({b"__ndarray__": True, b"data": b"", b"dtype": "<f4", b"shape": [0]}),
            VECTOR[:-1],
            VECTOR + b"\x00",
            b"\x81\xa1x\xd4\x01\x00",  # an extension
            b"\x81\xa1x\xa2\xff\xfe",  # text that is no UTF-8
            b"\x81\xa1x\xc7\xff\xff",
        ],
    )
    def test_what_is_no_message(self, data: bytes) -> None:
        with pytest.raises(ProtocolError):
            decode(data)

    @pytest.mark.parametrize(
        "changes",
        [
            {"dtype": "|O"},
            {"dtype": "<c8"},
            {"dtype": "|V4"},
            {"dtype": "<U1"},
            {"dtype": "<M8[s]"},
            {"dtype": "<f16"},
            {"dtype": "garbage" * 1000},
            {"dtype": [["a", "<f4"]]},
            {"shape": [4]},
            {"shape": [-3]},
            {"shape": [-1, -3]},
            {"shape": [1 << 62, 4]},
            {"shape": [0, 1 << 62]},
            {"shape": [1] * 9},
            {"shape": "3"},
            {"shape": [3.0]},
            {"shape": [[3]]},
            {"data": "text"},
            {"data": bytes(11)},
            {"data": [0] * 12},
            {"data": ...},
            {"dtype": ...},
            {"shape": ...},
        ],
        ids=repr,
    )
    def test_what_is_no_array(self, changes: dict[str, Any]) -> None:
        with pytest.raises(ProtocolError, match=r"^x: "):
            decode(array(**changes))

    @pytest.mark.parametrize(("dtype", "data"), [("|u1", 256), ("|i1", -129), ("<i4", "1"), ("|O", 1)])
    def test_what_is_no_scalar(self, dtype: str, data: Any) -> None:
        with pytest.raises(ProtocolError, match=r"^x: "):
            decode(raw({"x": {b"__npgeneric__": True, b"data": data, b"dtype": dtype}}))

    def test_bool_bytes_beyond_one_are_true(self) -> None:
        assert decode(array(dtype="|b1", data=b"\x00\x02\xff"))["x"].tolist() == [False, True, True]

    @given(st.binary(max_size=200))
    def test_any_bytes_are_a_message_or_refused(self, data: bytes) -> None:
        with suppress(ProtocolError):
            decode(data)

    @given(st.integers(0, len(VECTOR) - 1), st.integers(0, 255))
    def test_any_changed_byte_is_a_message_or_refused(self, at: int, value: int) -> None:
        with suppress(ProtocolError):
            decode(VECTOR[:at] + bytes([value]) + VECTOR[at + 1 :])


class TestBombs:
    @pytest.mark.parametrize(
        "data",
        [
            b"\x81\xa1x" + b"\x91" * 200_000 + b"\x90",
            b"\x81\xa1x" + b"\x81\xa1x" * 200_000 + b"\x90",
            b"\xdf\xff\xff\xff\xff",
            b"\x81\xa1x\xdd\xff\xff\xff\xff",
            b"\xdd\x00\x98\x96\x80" + b"\x90" * 10_000_000,
            b"\x81\xa1x\xdd\x00\x98\x96\x80" + b"\x90" * 10_000_000,
            b"\x81\xa1x\x84\xc4\x0b__ndarray__\xc3\xc4\x05shape\xdd\xff\xff\xff\xff",
            b"\xdf\x00\x0f\x42\x40" + b"".join(b"\xa3%03x\xc0" % (n % 4096) for n in range(1_000_000)),
        ],
        ids=[
            "depth of lists",
            "depth of maps",
            "map of 2^32-1",
            "list of 2^32-1",
            "10 MB of empty lists",
            "10 MB of empty lists within",
            "shape of 2^32-1",
            "a million keys",
        ],
    )
    def test_a_bomb_is_refused_at_once_and_takes_no_memory(self, data: bytes) -> None:
        tracemalloc.start()
        began = time.perf_counter()
        with pytest.raises(ProtocolError):
            decode(data)
        took = time.perf_counter() - began
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 20
        assert took < 0.5  # a hundredth of that on an idle machine

    def test_values_are_counted_across_levels(self) -> None:
        rows = [[0] * 100] * (MAX_MESSAGE_VALUES // 100 + 1)
        with pytest.raises(ProtocolError, match=f"at most {MAX_MESSAGE_VALUES} values"):
            decode(raw({"x": rows}))
