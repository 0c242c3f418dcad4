"""Bytes become arrays only through an allow-list of dtypes and bounded shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proctor.errors import ProtocolError
from proctor.limits import MAX_ARRAY_BYTES, MAX_ARRAY_RANK
from proctor.wire.arrays import DTYPES, array_bytes, copier, decode_array, decode_numpy_array, dtype_name

DTYPE = st.sampled_from(sorted(DTYPES))


@given(DTYPE.flatmap(lambda name: arrays.arrays(DTYPES[name], arrays.array_shapes(min_dims=0, min_side=0))))
def test_an_array_survives_its_bytes(array: np.ndarray) -> None:
    again = decode_array(dtype_name(array), array.shape, array.tobytes())
    assert again.dtype == array.dtype
    assert again.tobytes() == array.tobytes()
    assert again.flags.writeable


@given(st.text(max_size=8), st.lists(st.integers(-5, 1 << 70), max_size=12), st.binary(max_size=64))
def test_only_the_documented_exception_escapes(dtype: str, shape: list[int], data: bytes) -> None:
    try:
        decode_array(dtype, shape, data)
    except ProtocolError:
        return
    assert array_bytes(dtype, shape) == len(data)


@given(DTYPE, st.lists(st.integers(-5, 1 << 70), max_size=12), st.integers(-100, 100), st.binary(max_size=64))
def test_no_copier_reaches_beyond_its_memory(dtype: str, shape: list[int], offset: int, data: bytes) -> None:
    try:
        copy = copier(dtype, shape, data, offset)
    except ProtocolError:
        return
    assert copy().nbytes == array_bytes(dtype, shape)
    assert 0 <= offset <= len(data) - copy().nbytes


@pytest.mark.parametrize(
    "dtype", ["O", "|O", "object", "V8", "U4", "S4", "M8[ns]", "complex64", ">f4", "float128", ""]
)
def test_other_dtypes_do_not_travel(dtype: str) -> None:
    with pytest.raises(ProtocolError, match="does not travel; valid: bool"):
        array_bytes(dtype, (1,))


@pytest.mark.parametrize(
    "array", [np.zeros(1, ">f4"), np.zeros(1, object), np.zeros(1, "U4"), np.zeros(1, "c8")]
)
def test_other_dtypes_have_no_name(array: np.ndarray) -> None:
    with pytest.raises(ProtocolError, match="does not travel"):
        dtype_name(array)


def test_structured_dtypes_have_no_name() -> None:
    with pytest.raises(ProtocolError, match="does not travel"):
        dtype_name(np.zeros(1, [("a", "f4")]))


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ((-1,), "negative"),
        ((1,) * (MAX_ARRAY_RANK + 1), "dimensions"),
        ((MAX_ARRAY_BYTES + 1,), "over"),
        ((1 << 40, 1 << 40), "over"),
        ((0, 1 << 62), "over"),
    ],
)
def test_shapes_out_of_bounds_are_refused(shape: tuple[int, ...], problem: str) -> None:
    with pytest.raises(ProtocolError, match=problem):
        array_bytes("uint8", shape)


@pytest.mark.parametrize("size", [0, 11, 13])
def test_the_bytes_must_be_exactly_the_arrays(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"takes 12 bytes, got {size}"):
        decode_array("float32", (3,), bytes(size))


def test_any_byte_but_zero_is_true() -> None:
    raw = bytes([0, 1, 2, 255])
    assert decode_array("bool", (4,), raw).tobytes() == bytes([0, 1, 1, 1])
    assert copier("bool", (4,), raw)().tobytes() == bytes([0, 1, 1, 1])


def test_not_a_number_passes_unchanged() -> None:
    array = np.array([np.nan, np.inf, -np.inf, 1e-310], np.float64)
    assert decode_array("float64", (4,), array.tobytes()).tobytes() == array.tobytes()


def test_a_copier_copies_what_is_there_when_it_is_called() -> None:
    memory = bytearray(8)
    copy = copier("uint8", (2,), memory, 4)
    before = copy()
    memory[4] = 7
    assert before[0] == 0
    assert copy()[0] == 7


@given(DTYPE.flatmap(lambda name: arrays.arrays(DTYPES[name], arrays.array_shapes(min_dims=0, min_side=0))))
def test_an_array_survives_numpys_own_name_of_its_dtype(array: np.ndarray) -> None:
    for sent in (array, array.astype(array.dtype.newbyteorder(">"))):
        again = decode_numpy_array(sent.dtype.str, sent.shape, sent.tobytes())
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)
        assert again.flags.writeable


@pytest.mark.parametrize(
    "dtype", ["|O", "O", ">O", "<U4", "|V8", "<c8", "<M8[ns]", "<f4,<f4", "=f4", "f4", ""]
)
def test_numpys_other_dtypes_do_not_travel(dtype: str) -> None:
    with pytest.raises(ProtocolError, match="does not travel; valid: bool"):
        decode_numpy_array(dtype, (1,), bytes(8))
