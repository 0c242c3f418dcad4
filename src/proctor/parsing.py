"""Typed reading of files people write: an unknown key is an error that names the nearest valid one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect as types

from proctor.errors import UnknownNameError, UsageError

T = TypeVar("T")

_PLACE: Final = re.compile(r" - at `\$\.([\w.\[\]]+)`$")
"""Where msgspec says that a value stands; not for keys of mappings, which it writes as `[...]`."""

_STEP: Final = re.compile(r"\w+")

_SHOWN: Final = 80
"""Characters of a wrong value that a message shows at most."""

_type_info: Callable[[Any], Any] = cache(types.type_info)


def parse(raw: object, kind: type[T], source: str) -> T:
    """Turn plain data into `kind` (a Struct), refusing whatever it does not name.

    Raises `UnknownNameError` for an unknown key and `UsageError` for a value out of its domain, both naming
    `source` and the place within it.
    """
    _refuse_unknown_keys(raw, _type_info(kind), source)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        found = _PLACE.search(str(error))
        if found is None:
            raise UsageError(f"{source}: {error}") from None
        info, value = _at(found[1], raw, _type_info(kind))
        _name_choices(found[1], value, info, source)
        raise UsageError(f"{source}: {error}{_shown(value)}") from None


def _at(place: str, value: object, info: Any) -> tuple[Any, Any]:
    """Type and value of what stands at a place."""
    for step in _STEP.findall(place):
        info, value = _inside(info, value, step)
    return _given(info), value


def _shown(value: object) -> str:
    """A value, where it is one and short enough."""
    said = repr(value)
    return f", not {said}" if isinstance(value, bool | int | float | str) and len(said) <= _SHOWN else ""


def _name_choices(place: str, value: object, info: Any, source: str) -> None:
    """Raise an error that says more than msgspec's, where the value's type tells what is valid.

    A string out of a set, one whose pattern has a description, and one table in place of a list of them.
    """
    where, _, name = f"{source}, {place}".rpartition(", " if "." not in place else ".")
    if isinstance(info, types.LiteralType):
        raise UnknownNameError(f"{name} in {where}", str(value), map(str, info.values))
    if isinstance(info, types.Metadata) and (valid := (info.extra_json_schema or {}).get("description")):
        raise UsageError(f"unknown {name} in {where} {value!r}. Valid: {valid}")
    if isinstance(info, types.VarTupleType) and isinstance(value, dict):
        raise UsageError(f"{where}: {name} is a list of tables; in TOML, write [[{place}]]")


def _inside(info: Any, value: Any, step: str) -> tuple[Any, Any]:
    """Type and value one step further in; a type that is not known to have one is None."""
    info = _given(info)
    if isinstance(info, types.StructType) and isinstance(value, dict):
        return next((f.type for f in info.fields if f.encode_name == step), None), value.get(step)
    if isinstance(info, types.VarTupleType | types.ListType) and isinstance(value, list):
        return info.item_type, value[int(step)]
    return None, None


def _given(info: Any) -> Any:
    """The type of a value that may be left out, where it is there."""
    if isinstance(info, types.UnionType):
        return next((each for each in info.types if not isinstance(each, types.NoneType)), None)
    return info


def _refuse_unknown_keys(raw: object, info: Any, where: str) -> None:
    if isinstance(info, types.UnionType) and isinstance(raw, dict):
        info = _alternative(raw, info, where)
    if isinstance(info, types.StructType) and isinstance(raw, dict):
        valid = {field.encode_name: field.type for field in info.fields}
        for key, value in raw.items():
            if key == info.tag_field:
                continue
            if key not in valid:
                raise UnknownNameError(f"key in {where}", str(key), valid)
            _refuse_unknown_keys(value, valid[key], f"{where}, {key}")
    elif isinstance(info, types.DictType) and isinstance(raw, dict):
        for key, value in raw.items():
            _refuse_unknown_keys(value, info.value_type, f"{where}, {key}")
    elif isinstance(info, types.VarTupleType) and isinstance(raw, list):
        for position, item in enumerate(raw):
            _refuse_unknown_keys(item, info.item_type, f"{where}[{position}]")


def _alternative(raw: dict[Any, Any], info: types.UnionType, where: str) -> types.StructType | None:
    """Of several structs that a tag tells apart, the one that `raw` says it is; None if it says nothing."""
    tagged = [each for each in info.types if isinstance(each, types.StructType) and each.tag_field]
    for field in {each.tag_field for each in tagged if each.tag_field in raw}:
        known = {str(each.tag): each for each in tagged if each.tag_field == field}
        if str(raw[field]) not in known:
            raise UnknownNameError(f"{field} in {where}", str(raw[field]), known)
        return known[str(raw[field])]
    return None
