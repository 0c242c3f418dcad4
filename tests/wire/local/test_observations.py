"""Observations through shared memory: announced once, copied out, never torn."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proctor.errors import ProtocolError, RequestRefusedError
from proctor.limits import MAX_LAYOUTS, MAX_SHARED_BYTES
from proctor.policy import Observation
from proctor.wire.arrays import DTYPES
from proctor.wire.local import memory
from proctor.wire.local import messages as m
from proctor.wire.local.observations import ObservationReader, ObservationWriter, layout_of


class Pair:
    """A writer whose announcements reach a reader at once."""

    def __init__(self) -> None:
        self.announced: list[m.Memory | m.Layout] = []
        self.reader = ObservationReader()
        self.writer = ObservationWriter(self._announce)

    def _announce(self, message: m.Memory | m.Layout, fd: int | None) -> None:
        self.announced.append(message)
        if isinstance(message, m.Memory):
            assert fd is not None
            self.reader.set_memory(os.dup(fd), message.size)
        else:
            self.reader.add_layout(message)

    def send(self, *observations: Observation) -> list[Observation]:
        queries, body = self.writer.write(observations)
        return [self.reader.read(query, bytearray(body)) for query in queries]


@pytest.fixture(params=["shared", "inline"])
def pair(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Pair:
    if request.param == "inline":
        monkeypatch.setattr(memory, "AVAILABLE", False)
    elif not memory.AVAILABLE:
        pytest.skip("this host has no sealed shared memory")
    return Pair()


def observe(step: int = 0, **features: Any) -> Observation:
    return Observation("episode", step, features or {"state": np.full(4, step, np.float32)})


def test_a_body_that_was_read_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "AVAILABLE", False)
    pair = Pair()
    queries, data = pair.writer.write([observe(1)])
    body = bytearray(data)
    known = sys.getrefcount(body)
    pair.reader.read(queries[0], body)
    assert sys.getrefcount(body) == known


values = st.one_of(
    st.text(max_size=5),
    st.sampled_from(sorted(DTYPES)).flatmap(
        lambda name: arrays.arrays(DTYPES[name], arrays.array_shapes(min_dims=0, max_dims=4, min_side=0))
    ),
)


@given(st.lists(st.dictionaries(st.text(min_size=1, max_size=5), values, max_size=4), min_size=1, max_size=4))
def test_every_observation_arrives_as_it_was(features: list[dict[str, Any]]) -> None:
    pair = Pair()
    sent = [Observation("episode", step, each) for step, each in enumerate(features)]
    for got, want in zip([*pair.send(*sent), *pair.send(sent[0])], [*sent, sent[0]], strict=True):
        assert set(got.features) == set(want.features)
        for name, value in want.features.items():
            other = got.features[name]
            if isinstance(value, str):
                assert other == value
            else:
                assert isinstance(other, np.ndarray)
                assert (other.dtype, other.shape) == (value.dtype, value.shape)
                assert other.tobytes() == value.tobytes()


def test_form_and_memory_are_announced_once(pair: Pair) -> None:
    for step in range(5):
        pair.send(observe(step))
    kinds = [type(message) for message in pair.announced]
    assert kinds == ([m.Layout] if pair.writer.inline else [m.Layout, m.Memory])


def test_what_was_read_does_not_change(pair: Pair) -> None:
    first = pair.send(observe(1))[0]
    pair.send(observe(2))
    np.testing.assert_array_equal(first.features["state"], np.full(4, 1, np.float32))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=np.uint8).reshape(4, 6)[::-1, ::2],
        np.asfortranarray(np.arange(24, dtype=np.float64).reshape(4, 6)),
        np.broadcast_to(np.float32(3), (5, 2)),
    ],
)
def test_arrays_need_not_be_contiguous(pair: Pair, array: np.ndarray) -> None:
    got = pair.send(observe(image=array))[0].features["image"]
    np.testing.assert_array_equal(got, array)


def test_memory_grows_with_the_observation(pair: Pair) -> None:
    for size in (10, 100_000, 10):
        image = np.full(size, size % 251, np.uint8)
        np.testing.assert_array_equal(pair.send(observe(image=image))[0].features["image"], image)


def test_more_forms_than_layouts_are_announced_again(pair: Pair) -> None:
    for size in [*range(1, MAX_LAYOUTS + 3), 1, 2]:
        image = np.full(size, size, np.uint8)
        np.testing.assert_array_equal(pair.send(observe(image=image))[0].features["image"], image)


def test_a_batch_of_more_forms_than_layouts_is_refused(pair: Pair) -> None:
    forms = [observe(**{f"state{number}": np.zeros(1, np.uint8)}) for number in range(MAX_LAYOUTS + 1)]
    with pytest.raises(RequestRefusedError, match=f"more than {MAX_LAYOUTS} forms in one batch"):
        pair.send(*forms)
    assert [sorted(got.features) for got in pair.send(*forms[1:])] == [
        sorted(form.features) for form in forms[1:]
    ]


def test_what_was_abandoned_is_not_written_again() -> None:
    pair = Pair()
    queries, body = pair.writer.write([observe(1)])
    old = pair.reader
    late = ObservationReader()
    late._memory, late._plans = old._memory, dict(old._plans)
    pair.writer.abandon()
    pair.send(observe(2))
    still = late.read(queries[0], bytearray(body)).features["state"]
    np.testing.assert_array_equal(still, np.full(4, 1, np.float32))


@pytest.mark.parametrize("array", [np.zeros(2, ">f4"), np.zeros((1,) * 9)])
def test_an_array_that_cannot_travel_is_named(pair: Pair, array: np.ndarray) -> None:
    with pytest.raises(RequestRefusedError, match="feature 'odd'"):
        pair.send(observe(odd=array))


def test_an_observation_that_is_too_large_is_refused(pair: Pair) -> None:
    huge = np.broadcast_to(np.uint8(0), (64 << 20,))
    features = {f"image{number}": huge for number in range(5)}
    with pytest.raises(RequestRefusedError, match=f"at most {MAX_SHARED_BYTES} travel"):
        pair.send(Observation("episode", 0, features))
    assert pair.announced == []
    four = Observation("episode", 0, dict(list(features.items())[:4]))
    with pytest.raises(RequestRefusedError, match=f"at most {MAX_SHARED_BYTES} travel"):
        pair.send(four, observe(1))


def query(**changes: Any) -> m.Query:
    fields = {
        "episode_id": "episode",
        "step": 0,
        "layout": 0,
        "offset": 0,
        "inline": True,
        "inference_index": 0,
        "seed": None,
        "timestamp_s": None,
        "texts": ("pick",),
    }
    return m.Query(**{**fields, **changes})


def known_layout() -> ObservationReader:
    reader = ObservationReader()
    reader.add_layout(layout_of(observe(state=np.zeros(4, np.float32), text="pick"), 0))
    return reader


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"layout": 1}, "layout 1 was not announced"),
        ({"inline": False}, "before there is any"),
        ({"offset": 1}, "ends beyond 16"),
        ({"offset": 1 << 28}, "ends beyond 16"),
        ({"texts": ()}, "0 texts, the layout has 1"),
        ({"texts": ("a", "b")}, "2 texts, the layout has 1"),
    ],
)
def test_a_query_that_points_nowhere_is_nonsense(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProtocolError, match=problem):
        known_layout().read(query(**changes), bytearray(16))


@pytest.mark.parametrize("changes", [{"episode_id": ""}, {"timestamp_s": float("nan")}])
def test_a_value_that_an_observation_may_not_have_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(RequestRefusedError, match="Observation"):
        known_layout().read(query(**changes), bytearray(16))


def feature(**changes: Any) -> m.FeatureLayout:
    return m.FeatureLayout(**{"name": "a", "dtype": "uint8", "shape": (4,), "offset": 0, **changes})


@pytest.mark.parametrize(
    ("arrays_", "texts", "problem"),
    [
        ((feature(dtype="object"),), (), "does not travel"),
        ((feature(shape=(1 << 40,)),), (), "over"),
        (tuple(feature(name=str(n), shape=(64 << 20,)) for n in range(5)), (), "travel at once"),
        ((feature(), feature()), (), "twice"),
        ((feature(),), ("a",), "twice"),
        ((), ("b", "b"), "twice"),
    ],
)
def test_a_layout_that_cannot_be_is_nonsense(
    arrays_: tuple[m.FeatureLayout, ...], texts: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(ProtocolError, match=problem):
        ObservationReader().add_layout(m.Layout(0, arrays_, texts))


def test_a_batch_is_bounded_although_its_observations_share_their_bytes() -> None:
    reader = ObservationReader()
    reader.add_layout(m.Layout(0, (feature(shape=(64 << 20,)),), ()))
    with pytest.raises(ProtocolError, match="travel at once"):
        reader.read_all([query(texts=())] * 5, bytearray(16))


@given(
    st.lists(
        st.builds(
            m.FeatureLayout,
            st.text(max_size=2),
            st.sampled_from([*DTYPES, "object", "V8"]),
            st.lists(st.integers(0, 1 << 40), max_size=4).map(tuple),
            st.integers(0, 1 << 28),
        ),
        max_size=3,
    ).map(tuple),
    st.integers(0, 300),
    st.binary(max_size=64),
)
def test_only_documented_errors_escape(layout: tuple[m.FeatureLayout, ...], offset: int, body: bytes) -> None:
    reader = ObservationReader()
    try:
        reader.add_layout(m.Layout(0, layout, ()))
        got = reader.read(query(offset=offset, texts=()), bytearray(body))
    except ProtocolError:
        return
    assert len(got.features) == len(layout)


def test_a_descriptor_that_is_no_memory_is_closed(tmp_path: Any, descriptors: Callable[[], set[str]]) -> None:
    before = descriptors()
    fd = os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR)
    with pytest.raises(ProtocolError):
        ObservationReader().set_memory(fd, 4096)
    assert descriptors() == before
