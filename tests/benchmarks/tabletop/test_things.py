"""Measures of things, from their sizes alone."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.benchmarks.tabletop.things import FIXTURES, Inside, Kind, Shape, Thing, shape_of
from proctor.errors import UsageError

from .sizes import SIZES

CONTAINERS = {"vessel", "tray", "bin", "zone", "drawer", "socket"}
MOVING = {"drawer", "knob", "lever", "button"}

axes = (
    st.tuples(*[st.floats(-1, 1)] * 3)
    .map(np.array)
    .filter(lambda axis: np.linalg.norm(axis) > 0.1)
    .map(lambda axis: axis / np.linalg.norm(axis))
)


def measure(kind: Kind) -> Shape:
    return shape_of(Thing(kind, SIZES[kind], "red"))


def test_every_kind_is_measured() -> None:
    assert set(SIZES) == set(get_args(Kind))
    for kind in SIZES:
        assert measure(kind).kind == kind


@pytest.mark.parametrize("kind", SIZES)
def test_a_wrong_count_of_sizes_is_refused(kind: Kind) -> None:
    count = len(SIZES[kind])
    with pytest.raises(UsageError, match=f"a {kind} has {count} sizes, got {count + 1}"):
        shape_of(Thing(kind, (*SIZES[kind], 0.1), "red"))


def test_what_has_an_inside_and_what_a_joint() -> None:
    assert {kind for kind in SIZES if measure(kind).inside} == CONTAINERS
    assert {kind for kind in SIZES if measure(kind).travel} == MOVING
    assert MOVING < FIXTURES


@pytest.mark.parametrize(
    ("kind", "travel"),
    [("drawer", (0, 0.14)), ("knob", (0, math.pi / 2)), ("lever", (-0.6, 0.6)), ("button", (0, 0.012))],
)
def test_a_joint_has_the_range_its_size_says(kind: Kind, travel: tuple[float, float]) -> None:
    assert measure(kind).travel == travel


@pytest.mark.parametrize("kind", SIZES)
def test_upright_a_thing_reaches_from_its_bottom_to_its_top(kind: Kind) -> None:
    shape = measure(kind)
    assert shape.half_extent(np.array([0.0, 0.0, 1.0])) == pytest.approx((shape.bottom + shape.top) / 2)


@pytest.mark.parametrize("kind", SIZES)
@given(axes)
def test_an_extent_is_the_same_both_ways(kind: Kind, axis: np.ndarray) -> None:
    shape = measure(kind)
    assert shape.half_extent(axis) == pytest.approx(shape.half_extent(-axis))
    assert 0 < shape.half_extent(axis) <= math.hypot(shape.radius, (shape.bottom + shape.top) / 2) + 1e-12


@given(axes)
def test_a_box_reaches_as_far_as_its_farthest_corner(axis: np.ndarray) -> None:
    half = np.array(SIZES["box"])
    corners = [half * signs for signs in np.ndindex(2, 2, 2) for signs in [2 * np.array(signs) - 1]]
    assert measure("box").half_extent(axis) == pytest.approx(max(corner @ axis for corner in corners))


@pytest.mark.parametrize(
    ("inside", "point", "within"),
    [
        (Inside(0.05, 0.03, 0.0, 0.1), (0.05, 0.03, 0.0), True),
        (Inside(0.05, 0.03, 0.0, 0.1), (0.05, 0.03, 0.1), True),
        (Inside(0.05, 0.03, 0.0, 0.1), (0.051, 0.0, 0.05), False),
        (Inside(0.05, 0.03, 0.0, 0.1), (0.0, 0.031, 0.05), False),
        (Inside(0.05, 0.03, 0.0, 0.1), (0.0, 0.0, 0.101), False),
        (Inside(0.05, 0.03, 0.0, 0.1), (0.0, 0.0, -0.001), False),
        (Inside(0.05, 0.05, 0.0, 0.1, round=True), (0.04, 0.04, 0.05), False),
        (Inside(0.05, 0.05, 0.0, 0.1, round=True), (0.03, 0.03, 0.05), True),
    ],
)
def test_a_point_is_in_a_space_up_to_its_edges(
    inside: Inside, point: tuple[float, float, float], within: bool
) -> None:
    assert inside.holds(np.array(point)) is within


def test_a_drawers_inside_ends_where_its_sides_do() -> None:
    inside = measure("drawer").inside
    assert inside is not None
    assert inside.rim == pytest.approx(0.008 + 0.7 * 0.094)
