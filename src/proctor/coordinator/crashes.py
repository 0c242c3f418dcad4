"""What a native crash leaves of a window, where the benchmark says that it fails the rest of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from proctor.benchmarks.contract import Episode
from proctor.evaluation.protocol import RunSettings
from proctor.evaluation.record import EpisodeRecord, ErrorRecord, Outcome
from proctor.evaluation.tally import Provenance, Tally
from proctor.policy.seeds import policy_seed


def crash_failures(
    specs: Iterable[str], settings: RunSettings, worker: str, error: ErrorRecord
) -> Iterator[EpisodeRecord]:
    """One failure of no steps per planned episode (JSON) that the crashed worker did not finish."""
    for spec in specs:
        episode = msgspec.json.decode(spec, type=Episode)
        seed = policy_seed(settings.run_seed, episode.start, episode.repetition)
        tally = Tally(outcome=Outcome.FAILURE, termination="simulator", error=error)
        yield tally.record(episode, seed, (), Provenance(worker=worker))
