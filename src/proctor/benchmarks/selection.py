"""Chooses the episodes of a run. The result is the only source of denominators, seeds and instructions."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from proctor.benchmarks.checks import episode_id
from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import UnknownNameError, UsageError


def select(
    version: BenchmarkVersion,
    *,
    suite: str | None = None,
    tasks: Sequence[str] | None = None,
    episodes: int | None = None,
    repeat: int = 1,
) -> tuple[Episode, ...]:
    """Choose episodes, ordered by task (as the definition lists them), index and repetition.

    `suite`: a named subset, the first by default. `tasks`: only these of the suite. `episodes`: the first n
    of every task, all by default. `repeat`: how often each is run, with another policy seed.

    Raises `UnknownNameError` for a name the version does not have, `UsageError` for a task of another suite
    and for a count out of range.
    """
    if repeat < 1:
        raise UsageError(f"repeat {repeat}: must be at least 1")
    if episodes is not None and episodes < 1:
        raise UsageError(f"episodes {episodes}: must be at least 1")
    chosen = _choose_tasks(version.definition, suite, tasks)
    return tuple(
        replace(episode, repetition=repetition, id=episode_id(episode.task, episode.index, repetition))
        for task in chosen
        for episode in _first(version, task, episodes)
        for repetition in range(repeat)
    )


def suite_tasks(definition: BenchmarkDefinition, suite: str | None) -> tuple[str, ...]:
    """Task ids of a suite (None: the first), in the definition's order."""
    name = default_suite(definition) if suite is None else suite
    if name not in definition.suites:
        raise UnknownNameError("suite", name, definition.suites)
    members = definition.suites[name]
    return tuple(task.id for task in definition.tasks if task.id in members)


def default_suite(definition: BenchmarkDefinition) -> str:
    """Name of the first suite, which holds every task."""
    return next(iter(definition.suites))


def _choose_tasks(
    definition: BenchmarkDefinition, suite: str | None, tasks: Sequence[str] | None
) -> tuple[str, ...]:
    available = suite_tasks(definition, suite)
    if tasks is None:
        return available
    for task in tasks:
        if task not in available:
            raise _not_there(definition, suite, task, available)
    if not tasks:
        raise UsageError("tasks: none was named, so nothing would run")
    return tuple(task for task in available if task in tasks)


def _not_there(
    definition: BenchmarkDefinition, suite: str | None, task: str, available: Sequence[str]
) -> UsageError:
    """What is wrong with a task that the suite lacks: another suite has it, or the version has none such."""
    holding = [name for name, members in definition.suites.items() if task in members]
    if holding:
        return UsageError(f"task {task!r} is not in suite {suite!r}; suites with it: {', '.join(holding)}")
    return UnknownNameError("task", task, available)


def _first(version: BenchmarkVersion, task: str, count: int | None) -> list[Episode]:
    found = sorted((e for e in version.episodes if e.task == task), key=lambda episode: episode.index)
    if count is not None and count > len(found):
        raise UsageError(
            f"episodes {count}: task {task} has {len(found)}; use repeat to run them more than once"
        )
    return found[:count]
