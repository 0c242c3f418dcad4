"""Frames and headers of the local dialect: vectors, bounds, and nothing but documented errors."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import ProtocolError
from proctor.limits import MAX_BODY_FRAME_BYTES, MAX_CONTEXT_BYTES, MAX_HEADER_BYTES
from proctor.wire.local import messages as m
from proctor.wire.local.codec import FrameReader, decode_to_client, decode_to_server, encode_frame

QUERY = m.Query("ep", 3, 1, 64, False, 2, None, 0.5, ("pick",))

VECTORS = [
    (m.HealthRequest(7), b"", "0900000000000000 92 a6 6865616c7468 07"),
    (m.Done(1), b"ab", "0700000002000000 92 a4 646f6e65 01 6162"),
    (
        m.Layout(0, (m.FeatureLayout("s", "float32", (8,), 0),), ("t",)),
        b"",
        "1b00000000000000 94 a6 6c61796f7574 00 91 94 a1 73 a7 666c6f61743332 91 08 00 91 a1 74",
    ),
    (
        m.ActRequest(2, QUERY),
        b"",
        "1f00000000000000 93 a3 616374 02 99 a2 6570 03 01 40 c2 02 c0 cb 3fe0000000000000 91 a4 7069636b",
    ),
    (
        m.Chunk(2, m.ChunkForm("float32", (1, 1))),
        b"\0\0\0\0",
        "1400000004000000 93 a5 6368756e6b 02 92 a7 666c6f61743332 92 01 01 00000000",
    ),
]

numbers = st.integers(0, (1 << 63) - 1)
queries = st.builds(
    m.Query,
    st.text(max_size=20),
    numbers,
    st.integers(0, 63),
    st.integers(0, 1 << 20),
    st.booleans(),
    numbers,
    st.none() | numbers,
    st.none() | st.floats(allow_nan=False),
    st.lists(st.text(max_size=20), max_size=3).map(tuple),
)
requests = st.one_of(
    st.builds(m.Hello, st.text(max_size=20), st.sampled_from(["control", "episodes"])),
    st.builds(m.ActRequest, numbers, queries),
    st.builds(m.ActBatchRequest, numbers, st.lists(queries, min_size=1, max_size=3).map(tuple)),
    st.builds(m.EndRequest, numbers, st.text(max_size=20), st.text(max_size=20)),
    st.builds(m.Memory, st.integers(0, 1 << 20)),
)


@pytest.mark.parametrize(("message", "body", "expected"), VECTORS)
def test_frames_are_these_bytes(message: m.ToServer, body: bytes, expected: str) -> None:
    assert encode_frame(message, body) == bytes.fromhex(expected)


@given(requests, st.binary(max_size=50), st.data())
def test_a_frame_survives_any_fragmentation(message: m.ToServer, body: bytes, data: st.DataObject) -> None:
    stream = encode_frame(message, body) * 2
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    reader, frames = FrameReader(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reader.feed(stream[start:end])
        while (frame := reader.next_frame()) is not None:
            frames.append((decode_to_server(frame[0]), bytes(frame[1])))
    reader.end()
    assert frames == [(message, body)] * 2


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_a_protocol_error(data: bytes) -> None:
    reader = FrameReader()
    reader.feed(data)
    try:
        while (frame := reader.next_frame()) is not None:
            decode_to_server(frame[0])
        reader.end()
    except ProtocolError:
        pass
    assert reader.missing() >= 0


@given(st.binary(max_size=200))
def test_any_header_is_a_message_or_a_protocol_error(header: bytes) -> None:
    for decode in (decode_to_server, decode_to_client):
        try:
            decode(header)
        except ProtocolError:
            continue


@given(requests, st.integers(0, 200), st.integers(0, 255))
def test_a_damaged_header_is_a_message_or_a_protocol_error(message: m.ToServer, at: int, byte: int) -> None:
    header = bytearray(encode_frame(message)[8:])
    header[at % len(header)] = byte
    try:
        decode_to_server(header)
    except ProtocolError:
        return


@pytest.mark.parametrize("size", [0, 1, 3, 7])
def test_less_than_a_prefix_is_not_yet_a_frame(size: int) -> None:
    reader = FrameReader()
    reader.feed(bytes(size))
    assert reader.next_frame() is None
    assert reader.missing() == 8 - size


@pytest.mark.parametrize(
    ("header", "body"),
    [(MAX_HEADER_BYTES + 1, 0), (0, MAX_BODY_FRAME_BYTES + 1), (0xFFFFFFFF, 0), (0, 0xFFFFFFFF)],
)
def test_an_oversize_frame_is_refused_before_its_bytes_arrive(header: int, body: int) -> None:
    reader = FrameReader()
    reader.feed(struct.pack("<II", header, body))
    with pytest.raises(ProtocolError, match=f"frame of {header} header and {body} body bytes"):
        reader.next_frame()


def test_the_largest_frame_is_awaited() -> None:
    reader = FrameReader()
    reader.feed(struct.pack("<II", MAX_HEADER_BYTES, MAX_BODY_FRAME_BYTES))
    assert reader.next_frame() is None
    assert reader.missing() == MAX_HEADER_BYTES + MAX_BODY_FRAME_BYTES


def test_an_oversize_frame_is_not_sent() -> None:
    with pytest.raises(ProtocolError, match="at most"):
        encode_frame(m.EndRequest(1, "e" * (MAX_HEADER_BYTES + 1), ""))


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (m.EndRequest(1, "\udcff", ""), "EndRequest cannot travel: .*surrogates"),
        (m.ResetRequest(1, {"seed": 1 << 64}), "ResetRequest cannot travel: .*ints"),
        (m.ResetRequest(1, {"seed": object()}), "ResetRequest cannot travel: .*object"),
    ],
)
def test_what_cannot_be_encoded_is_not_sent(message: m.ToServer, problem: str) -> None:
    with pytest.raises(ProtocolError, match=problem):
        encode_frame(message)


def test_a_stream_that_ends_inside_a_frame_is_a_protocol_error() -> None:
    reader = FrameReader()
    reader.feed(encode_frame(m.HealthRequest(1))[:-1])
    assert reader.next_frame() is None
    with pytest.raises(ProtocolError, match="ended inside a frame, 16 bytes into it"):
        reader.end()


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x92\xa4load",
        b"\x92\xa7unknown\x01",
        b"\x92\xa6health\xff",
        b"\x93\xa6health\x01\x02",
        b"\x92\xa6health\x01\x00",
        b"\x92\xa6health\xcf" + b"\xff" * 8,
        b"\x93\xa4load\x01\x81\xa1k\xdd\xff\xff\xff\xff",
        b"\x93\xa4load\x01\x81\xa1k" + b"\x91" * 100_000,
        b"\x93\xa5reset\x01\x81\xa2\xff\xfe\x01",
        b"\x93\xa9act_batch\x01\x90",
        b"\x81\xa6health\x01",
        b'["health", 1]',
    ],
)
def test_headers_that_are_no_request(header: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"not a request of proctor\.local/1"):
        decode_to_server(header)


@pytest.mark.parametrize("tag", [b"\xa4load", b"\xa6loaded", b"\xd9\x03act"])
def test_a_long_header_with_a_map_of_anything_is_not_decoded(tag: bytes) -> None:
    header = b"\x93" + tag + b"\x01\x81\xa1k\xdd\x00\x02\x00\x00" + b"\x90" * MAX_CONTEXT_BYTES
    for decode in (decode_to_server, decode_to_client):
        with pytest.raises(ProtocolError, match=f"at most {MAX_CONTEXT_BYTES} travel with a context"):
            decode(header)


def test_an_instruction_may_be_longer_than_a_context() -> None:
    query = m.Query("a", 0, 0, 0, False, 0, None, None, ("x" * MAX_CONTEXT_BYTES,))
    assert decode_to_server(encode_frame(m.ActRequest(1, query))[8:]) == m.ActRequest(1, query)
