"""How long things took. No figure here enters a rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from statistics import median

from proctor.evaluation.record import EpisodeRecord, Latency
from proctor.results.run_record import Data


class LatencySummary(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Waiting in a typical episode: medians over episodes of each episode's own percentiles, milliseconds."""

    episodes: int
    count: int
    """Measurements in all episodes together."""
    p50: float
    p95: float
    p99: float
    max: float
    """The longest of all."""


class Clocks(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Seconds summed over all workers, apart: making simulators, running episodes, taking them down."""

    boot_s: float
    episode_s: float
    teardown_s: float


def latency(episodes: Iterable[Latency | None]) -> LatencySummary | None:
    """Summary over the episodes that measured anything; None when none did."""
    measured = [episode for episode in episodes if episode is not None and episode.count > 0]
    if not measured:
        return None
    return LatencySummary(
        episodes=len(measured),
        count=sum(episode.count for episode in measured),
        p50=median(episode.p50 for episode in measured),
        p95=median(episode.p95 for episode in measured),
        p99=median(episode.p99 for episode in measured),
        max=max(episode.max for episode in measured),
    )


def clocks(records: Sequence[EpisodeRecord]) -> Clocks:
    """The three clocks of all records."""
    return Clocks(
        boot_s=fsum(record.boot_s for record in records),
        episode_s=fsum(record.episode_s for record in records),
        teardown_s=fsum(record.teardown_s for record in records),
    )
