from __future__ import annotations

from collections.abc import Callable

import pytest

from proctor.evaluation.record import EpisodeRecord, Latency
from proctor.results.timing import clocks, latency

MakeRecord = Callable[..., EpisodeRecord]


def waiting(p50: float, worst: float, count: int = 10) -> Latency:
    return Latency(count=count, p50=p50, p95=p50 + 1, p99=p50 + 2, max=worst)


def test_percentiles_are_those_of_the_median_episode_and_max_is_of_all() -> None:
    summary = latency([waiting(1, 9), waiting(3, 70), waiting(100, 60), None])
    assert summary is not None
    assert (summary.episodes, summary.count) == (3, 30)
    assert (summary.p50, summary.p95, summary.p99, summary.max) == (3, 4, 5, 70)


@pytest.mark.parametrize("episodes", [[], [None], [waiting(0, 0, count=0)]])
def test_nothing_measured_is_none(episodes: list[Latency | None]) -> None:
    assert latency(episodes) is None


def test_the_three_clocks_are_summed_apart(make_record: MakeRecord) -> None:
    total = clocks([make_record(index=0), make_record(index=1)])
    assert (total.boot_s, total.episode_s) == (1.0, 5.0)
    assert total.teardown_s == pytest.approx(0.2)
