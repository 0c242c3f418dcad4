from __future__ import annotations

from proctor.evaluation.latency import summarise


def test_percentiles_are_durations_that_did_occur_in_milliseconds() -> None:
    latency = summarise([n / 1000 for n in range(100, 0, -1)])
    assert latency is not None
    assert (latency.count, latency.p50, latency.p95, latency.p99, latency.max) == (100, 50, 95, 99, 100)


def test_one_duration_is_every_percentile() -> None:
    latency = summarise([0.25])
    assert latency is not None
    assert {latency.p50, latency.p95, latency.p99, latency.max} == {250.0}


def test_of_nothing_there_is_no_distribution() -> None:
    assert summarise([]) is None
