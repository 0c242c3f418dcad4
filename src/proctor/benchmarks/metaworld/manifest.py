"""Writes upstream's training goals as the episodes of Meta-World versions, where the simulator is.

    <environment's python> .../proctor/_bootstrap.py proctor.benchmarks.metaworld.manifest DIR...

Episode n of a task is goal n of what `metaworld.MT50(seed=42)` draws for it: fifty a task. The draw is made
once and written down, because it depends on how often every task before resets.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import metaworld
from msgspec.structs import replace

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.freezing import episodes_with_starts, make_episodes
from proctor.benchmarks.listing import refuse_frozen
from proctor.benchmarks.orders import answers
from proctor.benchmarks.version import EPISODES_FILE, draft, encode_episodes, read_definition
from proctor.durable import write_durably
from proctor.errors import ProctorError

SEED: Final = 42
COUNT: Final = 50
"""Goals that upstream draws for a task."""


def goals() -> dict[str, list[tuple[float, ...]]]:
    """Upstream's random vectors by task, in its order. Takes most of a minute."""
    found = defaultdict(list)
    for task in metaworld.MT50(seed=SEED).train_tasks:
        vector = pickle.loads(task.data)["rand_vec"]  # noqa: S301 - made in this process a moment ago
        found[task.env_name].append(tuple(map(float, vector)))
    return dict(found)


def write(directory: Path, vectors: dict[str, list[tuple[float, ...]]]) -> str:
    """Write the episodes of a draft; says what was written. Raises `UsageError` for a frozen version."""
    refuse_frozen(directory)
    definition = read_definition(directory)
    episodes = [_placed(each, vectors) for each in make_episodes(definition, COUNT)]
    made = episodes_with_starts(draft(definition, episodes))
    write_durably(directory / EPISODES_FILE, encode_episodes(made))
    return f"{directory.name}: {len(made)} episodes"


def _placed(episode: Episode, vectors: dict[str, list[tuple[float, ...]]]) -> Episode:
    return replace(episode, settings={"random_vector": vectors[episode.task][episode.index]})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m proctor.benchmarks.metaworld.manifest")
    parser.add_argument("directory", type=Path, nargs="+")
    directories = parser.parse_args(arguments).directory
    try:
        with answers() as stream:
            for directory in directories:
                refuse_frozen(directory)
            vectors = goals()
            for directory in directories:
                print(write(directory, vectors), file=stream, flush=True)
    except ProctorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
