"""A chunk is an array of one or more actions; everything else is refused with the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proctor.policy import ActionChunk


@given(
    arrays.arrays(
        st.sampled_from(["float32", "float64", "int16", "uint8", "bool", ">f4"]),
        arrays.array_shapes(min_dims=1, max_dims=2, min_side=1),
    )
)
def test_any_numeric_array_of_one_or_two_axes_is_a_chunk(actions: np.ndarray) -> None:
    chunk = ActionChunk(actions)
    assert len(chunk) == (1 if actions.ndim == 1 else len(actions))
    assert ActionChunk.from_dict(chunk.to_dict()).actions is actions


@pytest.mark.parametrize(
    ("actions", "kind"),
    [([0.0, 1.0], "list"), ((0.0,), "tuple"), (1.0, "float"), (None, "NoneType"), (np.float32(1), "float32")],
)
def test_what_is_no_array_is_refused_with_the_fix(actions: Any, kind: str) -> None:
    with pytest.raises(TypeError) as refusal:
        ActionChunk(actions)
    assert str(refusal.value) == (
        f"ActionChunk.actions must be a numpy array, got {kind};"
        " wrap it as np.asarray(actions, dtype=np.float32)"
    )


@pytest.mark.parametrize(
    "actions", [np.array([None]), np.array(["1"]), np.array([1j]), np.zeros(2, "datetime64[s]")]
)
def test_arrays_that_are_no_numbers_are_refused(actions: Any) -> None:
    with pytest.raises(
        TypeError, match=r"ActionChunk.actions has dtype .*np.asarray\(actions, dtype=np.float32\)"
    ):
        ActionChunk(actions)


@pytest.mark.parametrize("shape", [(), (1, 2, 3)])
def test_other_ranks_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"must be \(dimension,\) or \(n, dimension\)"):
        ActionChunk(np.zeros(shape, np.float32))


@pytest.mark.parametrize("shape", [(0,), (0, 7)])
def test_an_empty_chunk_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="holds no action"):
        ActionChunk(np.zeros(shape, np.float32))


def test_equality_is_identity() -> None:
    actions = np.zeros(2, np.float32)
    assert ActionChunk(actions) != ActionChunk(actions)


def test_unknown_fields_are_errors() -> None:
    with pytest.raises(ValueError, match="ActionChunk: unknown field 'action'; did you mean 'actions'"):
        ActionChunk.from_dict({"action": np.zeros(2)})
