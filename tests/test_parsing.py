"""Reading typed data: unknown keys and values out of their domain are refused, with the place."""

from __future__ import annotations

from typing import Annotated, Literal

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


class Camera(msgspec.Struct, forbid_unknown_fields=True):
    layout: Literal["hwc", "chw"] = "hwc"
    codec: Annotated[str, msgspec.Meta(pattern="^(raw|png)$", description="raw, png")] = "raw"
    turn: Literal["left", "right"] | None = None


class Cameras(msgspec.Struct, forbid_unknown_fields=True):
    images: tuple[Camera, ...] = ()
    spare: Camera | None = None


class Circle(msgspec.Struct, tag="circle", tag_field="is", forbid_unknown_fields=True):
    radius: float


class Group(msgspec.Struct, tag="group", tag_field="is", forbid_unknown_fields=True):
    members: tuple[Circle | Group, ...]


class Drawing(msgspec.Struct, forbid_unknown_fields=True):
    shapes: dict[str, Circle | Group]


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
        (GOOD | {"name": 1}, r"file: Expected `str`, got `int` - at `\$.name`, not 1$"),
        (
            GOOD | {"items": [{"size": "x" * 99}]},
            r"file: Expected `int`, got `str` - at `\$.items\[0\].size`$",
        ),
        (
            GOOD | {"inner": {"size": 0.5}},
            r"file: Expected `int`, got `float` - at `\$.inner.size`, not 0\.5$",
        ),
        ({"name": "a"}, r"file: Object missing required field `inner`"),
        ([], r"file: Expected `object`"),
    ],
)
def test_a_wrong_value_names_its_place(raw: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(raw, Outer, "file")


def drawing(shape: object) -> object:
    return {"shapes": {"first": shape}}


def test_a_tag_says_which_of_several_structs_it_is() -> None:
    raw = {"is": "group", "members": [{"is": "circle", "radius": 1}]}
    assert parse(drawing(raw), Drawing, "file").shapes == {"first": Group((Circle(1),))}


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"is": "circel"}, r"unknown is in file, shapes, first 'circel'; did you mean 'circle'"),
        ({"is": 1}, r"unknown is in file, shapes, first '1'"),
        (
            {"is": "circle", "radios": 1},
            r"unknown key in file, shapes, first 'radios'; did you mean 'radius'",
        ),
        (
            {"is": "group", "members": [{"is": "circle", "radiu": 1}]},
            r"unknown key in file, shapes, first, members\[0\] 'radiu'; did you mean 'radius'",
        ),
    ],
)
def test_an_unknown_tag_or_key_of_several_structs_names_its_place_and_the_nearest(
    shape: object, message: str
) -> None:
    with pytest.raises(UnknownNameError, match=message):
        parse(drawing(shape), Drawing, "file")


@pytest.mark.parametrize("shape", [{}, {"radius": 1}, 3])
def test_data_without_the_tag_is_refused(shape: object) -> None:
    with pytest.raises(UsageError, match="file: "):
        parse(drawing(shape), Drawing, "file")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            {"images": [{}, {"layout": "CHW"}]},
            "unknown layout in file, images[1] 'CHW'. Valid: chw, hwc",
        ),
        (
            {"spare": {"layout": "hcw"}},
            "unknown layout in file, spare 'hcw'; did you mean 'hwc'? Valid: chw, hwc",
        ),
        (
            {"spare": {"turn": "lefd"}},
            "unknown turn in file, spare 'lefd'; did you mean 'left'? Valid: left, right",
        ),
        ({"spare": {"codec": "jpg"}}, "unknown codec in file, spare 'jpg'. Valid: raw, png"),
        ({"images": {"layout": "hwc"}}, "file: images is a list of tables; in TOML, write [[images]]"),
        ({"spare": {"codec": 1}}, "unknown codec in file, spare 1. Valid: raw, png"),
    ],
)
def test_a_value_that_is_none_of_a_few_names_those(raw: object, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(raw, Cameras, "file")
    assert str(raised.value) == message
