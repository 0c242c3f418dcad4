"""Checks of field values that come from outside."""

from __future__ import annotations

import time

import pytest

from proctor.policy import _fields


def test_a_long_list_is_checked_at_once() -> None:
    """One megabyte of header holds this many names; the thread that reads it serves others too."""
    names = [f"{number:x}" for number in range(100_000)]
    began = time.perf_counter()
    assert _fields.texts("names", names) == tuple(names)
    assert time.perf_counter() - began < 5.0


def test_repeated_names_are_named_once_each_in_order() -> None:
    assert _fields.repeated(["b", "a", "c", "b", "a", "b"]) == ["a", "b"]
    with pytest.raises(ValueError, match="names must not repeat a name, got a, b more than once"):
        _fields.texts("names", ["b", "a", "b", "a"])
