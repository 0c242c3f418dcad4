"""Reading fields of value types: each check returns the value or raises TypeError or ValueError naming it."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from proctor.errors import UnknownNameError


def text(field: str, value: object, *, empty: bool = False) -> str:
    """`value` as a str; the empty string only where `empty` says so."""
    if not isinstance(value, str):
        raise TypeError(f"{field} must be a str, got {type(value).__name__}")
    if not value and not empty:
        raise ValueError(f"{field} must not be empty")
    return value


def optional_text(field: str, value: object, *, empty: bool = False) -> str | None:
    """`text`, or None."""
    return None if value is None else text(field, value, empty=empty)


def whole(field: str, value: object, *, minimum: int | None = None, maximum: int | None = None) -> int:
    """`value` as an int within the closed range; bool is not an int here."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{field} must be an int, got {type(value).__name__}")
    if minimum is not None and value < minimum:
        raise ValueError(f"{field} must be at least {minimum}, got {value}")
    if maximum is not None and value > maximum:
        raise ValueError(f"{field} must be at most {maximum}, got {value}")
    return value


def optional_whole(field: str, value: object, *, minimum: int, maximum: int | None = None) -> int | None:
    """`whole`, or None."""
    return None if value is None else whole(field, value, minimum=minimum, maximum=maximum)


def finite(field: str, value: object) -> float:
    """`value` as a finite float; an int is accepted."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{field} must be a float, got {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"{field} must be finite, got {value}")
    return float(value)


def optional_finite(field: str, value: object) -> float | None:
    """`finite`, or None."""
    return None if value is None else finite(field, value)


def truth(field: str, value: object) -> bool:
    """`value` as a bool, and nothing else that is merely truthy."""
    if not isinstance(value, bool):
        raise TypeError(f"{field} must be a bool, got {type(value).__name__}")
    return value


def sequence(field: str, value: object) -> tuple[Any, ...]:
    """`value` as a tuple; only lists and tuples, since a bare str is the usual slip."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{field} must be a tuple or list, got {type(value).__name__}")
    return tuple(value)


def texts(field: str, value: object) -> tuple[str, ...]:
    """`value` as a tuple of non-empty strings without repetition; may be empty."""
    items = tuple(text(f"{field}[{index}]", item) for index, item in enumerate(sequence(field, value)))
    again = repeated(items)
    if again:
        raise ValueError(f"{field} must not repeat a name, got {', '.join(again)} more than once")
    return items


def repeated(names: Iterable[str]) -> list[str]:
    """Those that come more than once, sorted. Lists from outside may be long, so each is looked at once."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def non_empty(field: str, value: tuple[Any, ...]) -> None:
    """Refuse an empty tuple."""
    if not value:
        raise ValueError(f"{field} must not be empty")


def mapping(field: str, value: object) -> dict[str, Any]:
    """`value` as a new dict with non-empty string keys."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{field} must be a mapping, got {type(value).__name__}")
    return {text(f"key of {field}", key): item for key, item in value.items()}


def instance(field: str, value: object, kind: type) -> None:
    """Refuse a value that is not an instance of `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{field} must be of type {kind.__name__}, got {type(value).__name__}")


def json_value(field: str, value: object) -> Any:
    """A deep copy of `value` made of JSON types only: tuples become lists, NaN and infinity are refused."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return finite(field, value)
    if isinstance(value, (list, tuple)):
        return [json_value(f"{field}[{index}]", item) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {key: json_value(f"{field}.{key}", item) for key, item in mapping(field, value).items()}
    raise TypeError(f"{field} must hold JSON values only, got {type(value).__name__}")


def json_object(field: str, value: object) -> dict[str, Any]:
    """`json_value` of a mapping."""
    mapping(field, value)
    copy: dict[str, Any] = json_value(field, value)
    return copy


def arguments(kind: type, data: object) -> dict[str, Any]:
    """`data` as constructor arguments of the dataclass `kind`: every key known, every required key there."""
    values = mapping(kind.__name__, data)
    fields = dataclasses.fields(kind)
    known = [field.name for field in fields]
    for name in values:
        if name not in known:
            raise ValueError(f"{kind.__name__}: {unknown('field', name, known)}")
    missing = [field.name for field in fields if _is_required(field) and field.name not in values]
    if missing:
        raise ValueError(f"{kind.__name__}: missing field {', '.join(missing)}")
    return values


def unknown(field: str, name: str, known: Iterable[str]) -> str:
    """Text saying that `name` is not among `known`, with the nearest one."""
    return str(UnknownNameError(field, str(name), map(str, known)))


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing
