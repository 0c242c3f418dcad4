"""Writes upstream's official starts as the episodes of LIBERO versions, where the simulator is.

    <environment's python> .../_bootstrap.py proctor.benchmarks.libero.manifest DIR... [--seeds-from N]

Episode n of a task is start n of upstream's list, with the fixtures where the nth reset after seeding puts
them; with --seeds-from, where the first reset after seeding with N + n puts them. Its start is recorded as
the simulator makes it. A task that lacks files is refused before anything is made.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from proctor.benchmarks.checks import episode_id
from proctor.benchmarks.contract import Episode, Segment
from proctor.benchmarks.definition import BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.libero import resources
from proctor.benchmarks.libero.settings import task_settings_of
from proctor.benchmarks.libero.upstream import Upstream
from proctor.benchmarks.listing import refuse_frozen
from proctor.benchmarks.orders import answers
from proctor.benchmarks.version import EPISODES_FILE, encode_episodes, read_definition
from proctor.durable import write_durably
from proctor.errors import BenchmarkFault, ProctorError

SEED: Final = 7
"""Given once per task by the scripts around upstream, which then reset for every episode."""

Draw = tuple[int, int]
"""An episode's seed, and the resets between seeding and its own."""


def once_per_task(index: int) -> Draw:
    """One environment for all episodes of a task."""
    return SEED, index


def own_environment(first: int, index: int) -> Draw:
    """One environment for every episode, seeded with `first` + index."""
    return first + index, 0


def write(directory: Path, draw: Callable[[int], Draw]) -> str:
    """Write the episodes of a draft; says what was written. Raises `UsageError` for a frozen version."""
    refuse_frozen(directory)
    episodes = tuple(episodes_of(read_definition(directory), draw))
    write_durably(directory / EPISODES_FILE, encode_episodes(episodes))
    return f"{directory.name}: {len(episodes)} episodes"


def episodes_of(definition: BenchmarkDefinition, draw: Callable[[int], Draw]) -> Iterator[Episode]:
    """Every official start of every task. Raises `BenchmarkFault` naming the files that a task lacks."""
    for task in definition.tasks:
        resources.require(task_settings_of(task))
    for task in definition.tasks:
        yield from _episodes_of(task, draw)


def _episodes_of(task: TaskDefinition, draw: Callable[[int], Draw]) -> Iterator[Episode]:
    settings = task_settings_of(task)
    upstream = Upstream(resources.problem(settings), resources.scene_file(settings), lambda: None)
    for index, state in enumerate(resources.official_states(settings)):
        seed, resets = draw(index)
        upstream.begin(state, seed, resets)
        if upstream.data.qvel.any():
            raise BenchmarkFault(f"task {task.id}: start {index} moves; velocities are not recorded")
        yield Episode(
            id=episode_id(task.id, index, 0),
            task=task.id,
            index=index,
            seed=seed,
            segments=(Segment(task.instruction, task.horizon),),
            settings={"resets_since_seed": resets},
            initial_state=tuple(map(float, upstream.start())),
        )
    upstream.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m proctor.benchmarks.libero.manifest")
    parser.add_argument("directory", type=Path, nargs="+")
    parser.add_argument("--seeds-from", type=int, metavar="N", help="seed N + index for every episode")
    options = parser.parse_args(arguments)
    first = options.seeds_from
    draw = once_per_task if first is None else partial(own_environment, first)
    try:
        with answers() as stream:
            for directory in options.directory:
                print(write(directory, draw), file=stream, flush=True)
    except ProctorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
