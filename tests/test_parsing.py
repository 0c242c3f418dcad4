"""Reading typed data: unknown keys and values out of their domain are refused, with the place."""

from __future__ import annotations

import msgspec
import pytest

from proctor.errors import UnknownNameError, UsageError
from proctor.parsing import parse


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    size: int


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    inner: Inner
    items: tuple[Inner, ...] = ()
    settings: dict[str, int] = {}


GOOD = {"name": "a", "inner": {"size": 1}, "items": [{"size": 2}], "settings": {"anything": 3}}


def test_good_data_becomes_the_struct() -> None:
    assert parse(GOOD, Outer, "file") == Outer("a", Inner(1), (Inner(2),), {"anything": 3})


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (GOOD | {"nmae": 1}, r"unknown key in file 'nmae'; did you mean 'name'"),
        (GOOD | {"inner": {"sise": 1}}, r"unknown key in file, inner 'sise'; did you mean 'size'"),
        (GOOD | {"items": [{"size": 1}, {"siz": 1}]}, r"unknown key in file, items\[1\] 'siz'"),
    ],
)
def test_an_unknown_key_names_its_place_and_the_nearest(raw: object, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        parse(raw, Outer, "file")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (GOOD | {"name": 1}, r"file: Expected `str`, got `int` - at `\$.name`"),
        ({"name": "a"}, r"file: Object missing required field `inner`"),
        ([], r"file: Expected `object`"),
    ],
)
def test_a_wrong_value_names_its_place(raw: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(raw, Outer, "file")
