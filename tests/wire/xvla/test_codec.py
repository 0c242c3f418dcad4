"""Bodies byte for byte, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proctor.errors import InvalidActionError, ProtocolError, UsageError
from proctor.wire.arrays import DTYPES
from proctor.wire.mapping import ImageMapping
from proctor.wire.presets import PRESETS
from proctor.wire.xvla.codec import (
    array_of,
    array_text,
    check_mapping,
    decode_error,
    decode_reply,
    encode_request,
)

from .test_conformance import MAPPING

DTYPE = st.sampled_from(sorted(DTYPES))


def test_an_array_is_a_string_that_json_numpy_reads() -> None:
    body = encode_request({"proprio": np.arange(3, dtype=np.float32), "domain_id": 6})
    assert json.loads(body) == {
        "proprio": '{"__numpy__":"AAAAAAAAgD8AAABA","dtype":"<f4","shape":[3]}',
        "domain_id": 6,
    }


@given(DTYPE.flatmap(lambda name: arrays.arrays(DTYPES[name], arrays.array_shapes(min_dims=0, min_side=0))))
def test_an_array_survives(array: np.ndarray) -> None:
    again = array_of(array_text(array))
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()


@pytest.mark.parametrize("value", [np.zeros(1, object), np.zeros(1, "c8")])
def test_other_arrays_do_not_travel(value: np.ndarray) -> None:
    with pytest.raises(ProtocolError, match="does not travel"):
        encode_request({"proprio": value})


def test_what_json_cannot_hold_does_not_travel() -> None:
    with pytest.raises(ProtocolError, match="cannot be written as JSON"):
        encode_request({"steps": object()})


@pytest.mark.parametrize(
    "text",
    [
        "/etc/passwd",
        "{}",
        "[0.0]",
        '{"__numpy__":"AAAA","dtype":"|O","shape":[1]}',
        '{"__numpy__":"AAAA","dtype":"<f4","shape":[1]}',
        '{"__numpy__":"AAAAAA==","dtype":"<f4","shape":[-1]}',
        '{"__numpy__":"?","dtype":"<f4","shape":[1]}',
    ],
)
def test_other_texts_are_no_arrays(text: str) -> None:
    with pytest.raises(ProtocolError):
        array_of(text)


class TestReplies:
    def test_rows_and_a_single_row_are_read(self) -> None:
        assert decode_reply(b'{"action": [[0, 1.5], [2, 3]], "more": {}}', "action") == {
            "action": [[0.0, 1.5], [2.0, 3.0]]
        }
        assert decode_reply(b'{"action": [0, 1.5]}', "action") == {"action": [0.0, 1.5]}

    def test_what_is_there_instead_is_named(self) -> None:
        assert decode_reply(b'{"actions": [[0]]}', "action") == {"actions": None}

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"null",
            b"[[0.0]]",
            b'{"action": null}',
            b'{"action": "up"}',
            b'{"action": [["up"]]}',
            b'{"action": [[NaN]]}',
            b'{"action": [[[0.0]]]}',
            b'{"action": [[null]]}',
            b'{"action": ' + b"[" * 100_000,
            b'{"action": [' + b"[]," * 5000 + b"[]]}",
        ],
    )
    def test_anything_else_is_an_invalid_action(self, body: bytes) -> None:
        with pytest.raises(InvalidActionError):
            decode_reply(body, "action")

    def test_a_million_empty_rows_are_not_built(self) -> None:
        with pytest.raises(InvalidActionError, match="more than 4096 rows"):
            decode_reply(b'{"action":[' + b"[]," * 300_000 + b"[]]}", "action")

    @given(st.binary(max_size=60))
    def test_only_the_documented_exception_escapes(self, body: bytes) -> None:
        assert isinstance(decode_error(body), str)
        try:
            decode_reply(body, "action")
        except InvalidActionError:
            return

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (b'{"error": "Request failed"}', "Request failed"),
            (b'{"detail": "Not Found"}', "Not Found"),
            (b'{"detail": [{"loc": []}]}', ""),
            (b"Internal Server Error", ""),
        ],
    )
    def test_an_error_says_what_its_body_says(self, body: bytes, said: str) -> None:
        assert decode_error(body) == said


class TestMappings:
    def test_the_preset_is_one(self) -> None:
        check_mapping(PRESETS["xvla-robotwin"])

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            ({"unlisted": "canonical"}, "not canonical names"),
            (
                {"images": (ImageMapping(feature=("images.camera",), key="image0", codec="jpeg:90"),)},
                "exchange red and blue",
            ),
            (
                {"images": (ImageMapping(feature=("images.camera",), key="image0", layout="chw"),)},
                "raw hwc frames",
            ),
            (
                {"instruction": "image1"},
                "'image1' is for an array; a text there is the name",
            ),
            ({"constants": {"image2": "/etc/passwd"}}, "'image2' is for an array"),
            ({"constants": {"proprio": "x"}}, "'proprio' is for an array"),
            ({"actions": "data.action"}, "flat"),
        ],
    )
    def test_what_servers_would_misread_is_refused(self, change: dict[str, Any], problem: str) -> None:
        with pytest.raises(UsageError, match=problem):
            check_mapping(msgspec.structs.replace(MAPPING, **change))
