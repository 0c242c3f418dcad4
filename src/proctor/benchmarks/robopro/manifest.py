"""Makes the list of episodes of a draft, once; runs then search for nothing.

    python -m proctor.benchmarks.robopro.manifest probe DIR --trials FILE --made-by WHO [--task T]...
    python -m proctor.benchmarks.robopro.manifest write DIR [--trials FILE]
    python -m proctor.benchmarks.robopro.manifest write-listed DIR

Where upstream has a frozen list of a task's seeds, `write` takes those, in their order, and needs the
checkout alone. A few tasks have none, and some conditions change the scene that a seed makes, so that no list
says what can be done: those seeds are tried by upstream's expert first, as in
`proctor.benchmarks.robotwin.manifest`. `write-listed` writes what the lists have, and for the rest one
candidate each, which every run refuses.
"""

from __future__ import annotations

import argparse
import enum
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from proctor.benchmarks import checkouts
from proctor.benchmarks.checks import episode_id
from proctor.benchmarks.contract import Episode, Segment
from proctor.benchmarks.definition import BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.listing import refuse_frozen
from proctor.benchmarks.robopro.environment import VARIABLE, open_simulator
from proctor.benchmarks.robopro.instructions import Sentences
from proctor.benchmarks.robopro.settings import Condition, ProSettings, read_settings, read_task
from proctor.benchmarks.robopro.tasks import ProTask, key_of
from proctor.benchmarks.robotwin import instructions, manifest, seeds
from proctor.benchmarks.robotwin.manifest import Provenance
from proctor.benchmarks.robotwin.seeds import Trial, Trials
from proctor.benchmarks.version import EPISODES_FILE, encode_episodes, read_definition
from proctor.durable import write_durably
from proctor.errors import UsageError

LISTS: Final = Path("benchmark/eval_seeds")
WITHOUT_TRIAL: Final = {"upstream-list": "listed", "candidate": "untried"}
"""Verdicts on seeds that were not tried here, by where they come from."""


class Chosen(NamedTuple):
    """One seed of a task under a condition."""

    seed: int
    condition: str
    origin: str


class Wanting(enum.Enum):
    """What becomes of a task and condition that nobody has seeds of."""

    REFUSED = enum.auto()
    CANDIDATE = enum.auto()
    """One episode with the seed that would be tried first."""


class Source(NamedTuple):
    """Where seeds are taken from."""

    settings: ProSettings
    checkout: Path
    trials: Trials | None
    wanting: Wanting = Wanting.REFUSED


def listed_seeds(checkout: Path, task: ProTask, condition: Condition) -> list[int]:
    """Upstream's frozen seeds of a task; none where it has no list. Raises `UsageError` for other text."""
    if not condition.seeds:
        return []
    path = checkout / LISTS / task.name / f"bench_demo_{task.scene}_{condition.seeds}.txt"
    try:
        return [int(word) for word in path.read_text(encoding="utf-8").split()]
    except FileNotFoundError:
        return []
    except ValueError:
        raise UsageError(f"{path}: not a list of seeds") from None


def make_episodes(definition: BenchmarkDefinition, source: Source) -> tuple[Episode, ...]:
    """The episodes of every task, condition after condition. Raises `UsageError` where seeds are wanting."""
    sentences = Sentences(source.checkout)
    episodes: list[Episode] = []
    for task in definition.tasks:
        upstream, own = read_task(source.settings, task)
        chosen = [each for name in own.conditions for each in _choose(source, upstream, name)]
        for index, (seed, condition, origin) in enumerate(chosen):
            kind = source.settings.conditions[condition].instructions
            sentence = sentences.sentence(upstream, kind, seed, condition)
            episodes.append(
                Episode(
                    id=episode_id(task.id, index, 0),
                    task=task.id,
                    index=index,
                    seed=seed,
                    segments=(Segment(sentence, task.horizon),),
                    settings={"condition": condition, "seeds": origin},
                )
            )
    return tuple(episodes)


def write_manifest(directory: Path, definition: BenchmarkDefinition, source: Source) -> tuple[Episode, ...]:
    """Write the episodes of a draft and where they come from. Raises `UsageError` for a frozen version."""
    refuse_frozen(directory)
    if source.trials is not None:
        manifest.refuse_other_settings(definition, source.trials)
    episodes = make_episodes(definition, source)
    content = encode_episodes(episodes)
    kinds = sorted({condition.instructions for condition in source.settings.conditions.values()})
    provenance = Provenance(
        schema=1,
        seed_rule=seeds.RULE,
        instruction_rule=instructions.RULE,
        instruction_pool=", ".join(kinds),
        commit=source.settings.commit,
        sessions=tuple(source.trials.sessions) if source.trials else (),
        verdicts=_verdicts(episodes, source),
        episodes_sha256=hashlib.sha256(content).hexdigest(),
    )
    write_durably(directory / EPISODES_FILE, content)
    manifest.write_provenance(directory, provenance)
    return episodes


def probe(
    settings: ProSettings,
    checkout: Path,
    trials: Trials,
    tasks: Sequence[TaskDefinition],
    try_with: Callable[[TaskDefinition, str], Callable[[int], Trial]],
) -> int:
    """Search the seeds of every task and condition that has no list; returns how many such there were."""
    searched = 0
    for task, name, condition in _unlisted(settings, checkout, tasks):
        found = seeds.search(
            trials,
            key_of(read_task(settings, task)[0].name, name),
            try_with(task, name),
            start=settings.candidate_start,
            count=condition.count,
        )
        print(f"{task.id}, {name}: {len(found)} seeds, the last {found[-1].seed}", flush=True)
        searched += 1
    return searched


def expert_of(definition: BenchmarkDefinition) -> Callable[[TaskDefinition, str], Callable[[int], Trial]]:
    """Opens a task's simulator for trials under a condition."""

    def try_with(task: TaskDefinition, condition: str) -> Callable[[int], Trial]:
        simulator = open_simulator(definition, task)
        name = key_of(read_task(read_settings(definition), task)[0].name, condition)
        return lambda seed: simulator.try_seed(name, seed, {"condition": condition})

    return try_with


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the module's commands."""
    parser = argparse.ArgumentParser(prog="python -m proctor.benchmarks.robopro.manifest")
    commands = manifest.add_commands(parser, trials_to_write=False)
    listed = commands.add_parser("write-listed", help="write what upstream lists; the rest are candidates")
    listed.add_argument("directory", type=Path)
    listed.set_defaults(trials=None)
    return manifest.run(parser.parse_args(arguments), _run)


def _run(options: argparse.Namespace) -> str:
    definition = read_definition(options.directory)
    settings = read_settings(definition)
    checkout = checkouts.require("robopro", VARIABLE, settings.commit)
    trials = Trials(options.trials) if options.trials else None
    if options.command != "probe":
        wanting = Wanting.REFUSED if options.command == "write" else Wanting.CANDIDATE
        source = Source(settings, checkout, trials, wanting)
        episodes = write_manifest(options.directory, definition, source)
        return f"{options.directory.name}: {len(episodes)} episodes written"
    assert trials is not None, "probe has a trials file"
    tasks = manifest.choose_tasks(definition, options.tasks)
    trials.begin(manifest.describe_session(definition, settings.commit, options.made_by))
    searched = probe(settings, checkout, trials, tasks, expert_of(definition))
    return f"{options.trials}: seeds of {searched} tasks and conditions without a list of upstream's"


def _choose(source: Source, task: ProTask, name: str) -> Iterator[Chosen]:
    condition = source.settings.conditions[name]
    if listed := listed_seeds(source.checkout, task, condition):
        yield from (Chosen(seed, name, "upstream-list") for seed in listed[: condition.count])
        return
    if source.wanting is Wanting.CANDIDATE:
        yield Chosen(source.settings.candidate_start, name, "candidate")
        return
    if source.trials is None:
        raise UsageError(
            f"task {task.name}, condition {name}: upstream has no list of seeds; probe them first and name"
            " the file: --trials"
        )
    key = key_of(task.name, name)
    found = source.trials.feasible(key, source.settings.candidate_start, condition.count)
    yield from (Chosen(trial.seed, name, "expert") for trial in found)


def _verdicts(episodes: Sequence[Episode], source: Source) -> dict[str, Mapping[str, int]]:
    """By task and condition: how many seeds came from a list, or what came of those that were tried."""
    last: dict[str, list[Episode]] = {}
    for episode in episodes:
        name = episode.task.partition("+")[0]
        last.setdefault(key_of(name, episode.settings["condition"]), []).append(episode)
    found: dict[str, Mapping[str, int]] = {}
    for key, those in last.items():
        origin = those[-1].settings["seeds"]
        if source.trials is not None and origin == "expert":
            found[key] = source.trials.counts(key, source.settings.candidate_start, those[-1].seed)
        else:
            found[key] = {WITHOUT_TRIAL[origin]: len(those)}
    return found


def _unlisted(
    settings: ProSettings, checkout: Path, tasks: Sequence[TaskDefinition]
) -> Iterator[tuple[TaskDefinition, str, Condition]]:
    for task in tasks:
        upstream, own = read_task(settings, task)
        for name in own.conditions:
            condition = settings.conditions[name]
            if not listed_seeds(checkout, upstream, condition):
                yield task, name, condition


if __name__ == "__main__":
    sys.exit(main())
