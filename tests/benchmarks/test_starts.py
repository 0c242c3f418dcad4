from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
from msgspec.structs import replace

from proctor.benchmarks.contract import Episode, Segment
from proctor.benchmarks.starts import check_start, digest_of_start
from proctor.errors import BenchmarkFault

EPISODE = Episode(id="reach/3/1", task="reach", index=3, seed=0, segments=(Segment("go", 5),), repetition=1)


def test_the_digest_of_a_start_is_that_of_its_little_endian_bytes() -> None:
    expected = hashlib.sha256(struct.pack("<3d", 0.1, -0.0, 3.0)).hexdigest()
    assert digest_of_start(np.array([0.1, -0.0, 3.0])) == expected


def test_a_start_is_compared_with_the_recorded_one_where_there_is_one() -> None:
    start = np.array([0.0, 1.0])
    assert check_start(start, EPISODE, 0.0) is None
    assert check_start(start, replace(EPISODE, initial_state=(0.0, 1.25)), 0.5) == 0.25


@pytest.mark.parametrize(
    ("start", "recorded", "message"),
    [
        (
            [0.0, 1.0],
            (0.0, 2.0),
            r"reach/3/1: value 1 of the start is 1\.0, recorded is 2\.0; they may differ by 0\.5",
        ),
        ([0.0], (0.0, 2.0), "the start has 1 values, 2 are recorded"),
        ([0.0, np.nan], (0.0, 0.0), "value 1 of the start is not finite"),
    ],
)
def test_a_start_that_is_not_the_recorded_one_is_the_benchmarks_fault(
    start: list[float], recorded: tuple[float, ...], message: str
) -> None:
    with pytest.raises(BenchmarkFault, match=message):
        check_start(np.array(start), replace(EPISODE, initial_state=recorded), 0.5)
