"""Success rates with their count and interval: the only form in which a rate leaves this package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from proctor.evaluation.record import EpisodeRecord, Outcome
from proctor.results.run_record import Data, PlannedEpisode, PlannedTask
from proctor.results.statistics import (
    Interval,
    Stratum,
    clustered_t,
    stratified_wilson,
    weighted_rate,
    wilson,
)

Succeeded = Callable[[EpisodeRecord], bool]
Trial = EpisodeRecord | PlannedEpisode
AnyTrial = TypeVar("AnyTrial", bound=Trial)
Meaning = Literal["once", "at_end", "held"]


class Rate(Data, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A success rate over counted episodes, and what 95 % confidence leaves open."""

    successes: int
    trials: int
    starts: int
    """Distinct episodes among the trials. The interval counts these: repetitions of one start are not
    independent of each other."""
    value: float
    """For one task successes / trials, for several the mean of the task rates by weight."""
    interval: Interval
    method: Literal["wilson", "stratified-wilson"]
    tasks: int
    """Tasks with at least one trial; a task without any has no part in the value."""
    such_tasks: Interval | None = None
    """Interval for tasks like these (t over task rates); None for fewer than five, or when none differ."""


def succeeded(record: EpisodeRecord) -> bool:
    """The benchmark's own meaning of success."""
    return record.outcome is Outcome.SUCCESS


def succeeded_by(meaning: Meaning) -> Succeeded:
    """One of the three recorded meanings. An episode that ended by a policy error never succeeded."""
    flags: Mapping[Meaning, Succeeded] = {
        "once": lambda record: record.success_once,
        "at_end": lambda record: record.success_at_end,
        "held": lambda record: record.success_held,
    }
    flag = flags[meaning]
    return lambda record: flag(record) and record.outcome is not Outcome.POLICY_ERROR


def rate_over_completed(
    tasks: Sequence[PlannedTask], records: Sequence[EpisodeRecord], success: Succeeded = succeeded
) -> Rate | None:
    """Rate over the records there are; None without any."""
    return _rate(tasks, filter(success, records), records)


def rate_over_planned(
    tasks: Sequence[PlannedTask], records: Sequence[EpisodeRecord], planned: Sequence[PlannedEpisode]
) -> Rate | None:
    """Rate over the plan, a missing episode counted as not succeeded; None without any record."""
    return _rate(tasks, filter(succeeded, records), planned) if records else None


def by_task(trials: Iterable[AnyTrial]) -> dict[str, list[AnyTrial]]:
    """The trials of each task, in their order."""
    groups: dict[str, list[AnyTrial]] = {}
    for trial in trials:
        groups.setdefault(trial.task, []).append(trial)
    return groups


def _rate(
    tasks: Sequence[PlannedTask], successes: Iterable[EpisodeRecord], trials: Iterable[Trial]
) -> Rate | None:
    won = Counter(record.task for record in successes)
    groups = by_task(trials)
    measured = [task for task in tasks if task.id in groups]
    if not measured:
        return None
    strata = [_stratum(task, won[task.id], groups[task.id]) for task in measured]
    single = len(strata) == 1
    return Rate(
        successes=sum(won[task.id] for task in measured),
        trials=sum(len(groups[task.id]) for task in measured),
        starts=sum(stratum.trials for stratum in strata),
        value=weighted_rate(strata),
        interval=wilson(strata[0].successes, strata[0].trials) if single else stratified_wilson(strata),
        method="wilson" if single else "stratified-wilson",
        tasks=len(measured),
        such_tasks=clustered_t(strata),
    )


def _stratum(task: PlannedTask, successes: int, trials: Sequence[Trial]) -> Stratum:
    """Repetitions of one start make one trial, worth their mean: the interval errs on the wide side."""
    starts = len({trial.index for trial in trials})
    return Stratum(successes * starts / len(trials), starts, task.weight)
