"""Makes the lists of a RoboCasa draft, where the checkout is.

    python -m proctor.benchmarks.robocasa.manifest tasks CHECKOUT    anywhere
    python -m proctor.benchmarks.robocasa.manifest episodes DIR      anywhere
    <environment's python> .../proctor/_bootstrap.py proctor.benchmarks.robocasa.manifest record DIR

`tasks` prints RoboCasa365's tasks and suites, with the horizons of the checkout's own registry, as they
belong into `benchmark.toml`. `episodes` writes the seeds of every task. `record` makes every start, where the
assets are, and writes upstream's sentence and the start down: no episode is run before.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from proctor.benchmarks.checks import episode_id
from proctor.benchmarks.contract import Episode, Segment
from proctor.benchmarks.definition import BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.freezing import episode_seed
from proctor.benchmarks.listing import refuse_frozen
from proctor.benchmarks.orders import answers
from proctor.benchmarks.robocasa.kitchen import Kitchen
from proctor.benchmarks.robocasa.layouts import LAYOUTS
from proctor.benchmarks.robocasa.registry import Registry, read_registry
from proctor.benchmarks.robocasa.settings import settings_of
from proctor.benchmarks.toml_text import to_toml
from proctor.benchmarks.version import EPISODES_FILE, encode_episodes, load_version, read_definition
from proctor.durable import write_durably
from proctor.errors import BenchmarkFault, ProctorError

COUNT: Final = 50
"""Episodes per task, of both benchmarks."""

Open = Callable[[BenchmarkDefinition, TaskDefinition], Kitchen]


def tasks_text(registry: Registry) -> str:
    """RoboCasa365's tasks and suites, as TOML. Raises `BenchmarkFault` for one without a horizon."""
    members = [name for names in registry.targets.values() for name in names]
    unknown = [name for name in members if name not in registry.horizons]
    if unknown:
        raise BenchmarkFault(f"the registry gives no horizon for {', '.join(unknown)}")
    tasks = [
        {
            "id": task_id(name),
            "instruction": words_of(name),
            "horizon": registry.horizons[name],
            "axes": [f"set:{group}"],
            "settings": {"environment": f"robocasa/{name}"},
        }
        for group, names in registry.targets.items()
        for name in names
    ]
    suites = {"target50": [task_id(name) for name in members]}
    suites |= {group: [task_id(name) for name in names] for group, names in registry.targets.items()}
    return to_toml({"tasks": tasks, "suites": suites})


def words_of(name: str) -> str:
    """Upstream's name in words: what the plan calls a task before its sentences are recorded.

    >>> words_of("PnPCupToDrawerClose")
    'pnp cup to drawer close'
    """
    return " ".join(re.findall(r"PnP|[A-Z]+(?![a-z])|[A-Z][a-z]*|\\d+", name)).lower()


def task_id(name: str) -> str:
    """Upstream's name as an id.

    >>> task_id("CloseFridge")
    'close-fridge'
    """
    return words_of(name).replace(" ", "-")


def seeded(definition: BenchmarkDefinition) -> Iterator[Episode]:
    """The episodes of a draft before they are recorded.

    Seeds of RoboCasa365 count up from 0; the tabletop's, for which upstream has none, follow from names, as
    in `proctor.benchmarks.freezing`.
    """
    counting = settings_of(definition).simulator == "365"
    for task in definition.tasks:
        for index in range(COUNT):
            yield Episode(
                id=episode_id(task.id, index, 0),
                task=task.id,
                index=index,
                seed=index if counting else episode_seed(definition.family, task.id, index),
                segments=(Segment(task.instruction, task.horizon),),
            )


def recorded(definition: BenchmarkDefinition, episodes: Sequence[Episode], open_: Open) -> Iterator[Episode]:
    """The same with what upstream makes of every seed: its sentence, and the start."""
    language = LAYOUTS[settings_of(definition).simulator].language
    for task in definition.tasks:
        kitchen = open_(definition, task)
        for episode in (each for each in episodes if each.task == task.id):
            sentence = str(kitchen.reset(episode.seed)[language])
            yield replace(
                episode,
                segments=(Segment(sentence, task.horizon),),
                settings={"sentence": sentence},
                initial_state=tuple(map(float, kitchen.start())),
            )
        kitchen.close()


def write_seeds(directory: Path) -> str:
    """Write the episodes of a draft; says what was written. Raises `UsageError` for a frozen version."""
    refuse_frozen(directory)
    episodes = tuple(seeded(read_definition(directory)))
    write_durably(directory / EPISODES_FILE, encode_episodes(episodes))
    return f"{directory.name}: {len(episodes)} episodes, none recorded yet"


def write_recorded(directory: Path, open_: Open) -> str:
    """Record the episodes of a draft; says what was written. Raises `UsageError` for a frozen version."""
    refuse_frozen(directory)
    version = load_version(directory)
    episodes = tuple(recorded(version.definition, version.episodes, open_))
    write_durably(directory / EPISODES_FILE, encode_episodes(episodes))
    return f"{directory.name}: {len(episodes)} episodes recorded"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m proctor.benchmarks.robocasa.manifest")
    parser.add_argument("command", choices=["tasks", "episodes", "record"])
    parser.add_argument("directory", type=Path, help="a checkout of RoboCasa365, or a version's directory")
    options = parser.parse_args(arguments)
    try:
        with answers() as stream:
            print(_answer(options.command, options.directory), file=stream)
    except ProctorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _answer(command: str, directory: Path) -> str:
    if command == "tasks":
        return tasks_text(read_registry(directory))
    if command == "episodes":
        return write_seeds(directory)
    from proctor.benchmarks.robocasa.environment import open_kitchen

    return write_recorded(directory, open_kitchen)


if __name__ == "__main__":
    sys.exit(main())
