"""Makes the list of episodes of a draft, once, where the simulator runs; runs then search for nothing.

    python -m proctor.benchmarks.robotwin.manifest probe DIR --trials FILE --made-by WHO [--task T]...
    python -m proctor.benchmarks.robotwin.manifest write DIR --trials FILE

`probe` lets upstream's expert try seeds and writes every trial down; it may be stopped and started again,
and tasks may be spread over machines of one kind, with a file each. It runs in the environment's
interpreter, with a GPU. `write` needs the checkout alone: it takes the first seeds that succeeded, draws
each episode's sentence from upstream's pools, and writes `episodes.jsonl` and `provenance.json`. Both
belong to the version.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

import msgspec

from proctor.benchmarks import checkouts
from proctor.benchmarks.checks import episode_id
from proctor.benchmarks.contract import Episode, Segment
from proctor.benchmarks.definition import BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.listing import refuse_frozen
from proctor.benchmarks.registry import find_family
from proctor.benchmarks.robotwin import instructions, seeds
from proctor.benchmarks.robotwin.environment import VARIABLE, open_simulator
from proctor.benchmarks.robotwin.seeds import Session, Trial, Trials
from proctor.benchmarks.robotwin.settings import read_settings
from proctor.benchmarks.version import EPISODES_FILE, encode_episodes, read_definition
from proctor.durable import write_durably
from proctor.errors import ProctorError, UnknownNameError, UsageError

PROVENANCE_FILE: Final = "provenance.json"
TEMPLATES: Final = Path("description/task_instruction")
DESCRIPTIONS: Final = Path("description/objects_description")
GPU_TIMEOUT_S: Final = 20.0


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a version's episodes come from: `provenance.json`."""

    schema: int
    seed_rule: str
    instruction_rule: str
    instruction_pool: str
    commit: str
    sessions: tuple[Session, ...]
    """Everybody who tried seeds; empty where upstream's own lists were taken."""
    verdicts: dict[str, Mapping[str, int]]
    """By task: what came of the seeds up to the last one taken."""
    episodes_sha256: str


def describe_session(definition: BenchmarkDefinition, commit: str, made_by: str) -> Session:
    """This machine, now."""
    return Session(
        made_by=made_by,
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=definition.id,
        settings_sha256=settings_sha256(definition),
        commit=commit,
        platform=platform.platform(),
        gpu=_gpu(),
        packages=dict(find_family(definition.family).packages()),
    )


def settings_sha256(definition: BenchmarkDefinition) -> str:
    """SHA-256 of a definition's settings in canonical JSON."""
    return hashlib.sha256(msgspec.json.encode(definition.settings, order="deterministic")).hexdigest()


def probe(
    definition: BenchmarkDefinition,
    trials: Trials,
    tasks: Sequence[TaskDefinition],
    try_with: Callable[[TaskDefinition], Callable[[int], Trial]],
) -> None:
    """Search the seeds of every task. `try_with` opens a task's simulator and returns what tries a seed."""
    settings = read_settings(definition)
    for task in tasks:
        found = seeds.search(
            trials,
            task.id,
            try_with(task),
            start=settings.candidate_start,
            count=settings.seeds_per_task,
        )
        print(f"{task.id}: {len(found)} seeds, the last {found[-1].seed}", flush=True)


def make_episodes(definition: BenchmarkDefinition, trials: Trials, checkout: Path) -> tuple[Episode, ...]:
    """The first seeds that succeeded, each with its sentence. Raises `UsageError` where any are wanting."""
    settings = read_settings(definition)
    describe = instructions.describer(checkout / DESCRIPTIONS)
    episodes = []
    for task in definition.tasks:
        texts = instructions.read_texts(checkout / TEMPLATES / f"{task.id}.json")
        chosen = trials.feasible(task.id, settings.candidate_start, settings.seeds_per_task)
        for index, trial in enumerate(chosen):
            names = (definition.family, task.id, trial.seed)
            drawn = instructions.compose(texts, trial.scene, describe, settings.instructions, names)
            episodes.append(
                Episode(
                    id=episode_id(task.id, index, 0),
                    task=task.id,
                    index=index,
                    seed=trial.seed,
                    segments=(Segment(drawn.text, task.horizon),),
                    settings={"seeds": "expert", "template": drawn.template},
                )
            )
    return tuple(episodes)


def write_manifest(
    directory: Path, definition: BenchmarkDefinition, trials: Trials, checkout: Path
) -> tuple[Episode, ...]:
    """Write the episodes of a draft and where they come from. Raises `UsageError` for a frozen version."""
    refuse_frozen(directory)
    settings = read_settings(definition)
    refuse_other_settings(definition, trials)
    episodes = make_episodes(definition, trials, checkout)
    last = {episode.task: episode.seed for episode in episodes}
    content = encode_episodes(episodes)
    provenance = Provenance(
        schema=1,
        seed_rule=seeds.RULE,
        instruction_rule=instructions.RULE,
        instruction_pool=settings.instructions,
        commit=settings.commit,
        sessions=tuple(trials.sessions),
        verdicts={task: trials.counts(task, settings.candidate_start, seed) for task, seed in last.items()},
        episodes_sha256=hashlib.sha256(content).hexdigest(),
    )
    write_durably(directory / EPISODES_FILE, content)
    write_provenance(directory, provenance)
    return episodes


def write_provenance(directory: Path, provenance: Provenance) -> None:
    """Write `provenance.json`."""
    encoded = msgspec.json.encode(provenance, order="deterministic")
    write_durably(directory / PROVENANCE_FILE, msgspec.json.format(encoded, indent=1) + b"\n")


def refuse_other_settings(definition: BenchmarkDefinition, trials: Trials) -> None:
    """Raise `UsageError` for trials that were made with other settings than the definition's."""
    for session in trials.sessions:
        if session.settings_sha256 != settings_sha256(definition):
            raise UsageError(
                f"{trials.path}: trials of {session.version} with other settings than {definition.id} has now"
            )


def choose_tasks(definition: BenchmarkDefinition, names: Sequence[str]) -> list[TaskDefinition]:
    """The named tasks, all of them where none is named. Raises `UnknownNameError`."""
    known = {task.id: task for task in definition.tasks}
    for name in names:
        if name not in known:
            raise UnknownNameError("task", name, known)
    return [known[name] for name in names] or list(definition.tasks)


def expert_of(definition: BenchmarkDefinition) -> Callable[[TaskDefinition], Callable[[int], Trial]]:
    """Opens a task's simulator for trials."""

    def try_with(task: TaskDefinition) -> Callable[[int], Trial]:
        simulator = open_simulator(definition, task)
        return lambda seed: simulator.try_seed(task.id, seed, {})

    return try_with


def add_commands(
    parser: argparse.ArgumentParser, *, trials_to_write: bool
) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    """`probe` and `write`; `trials_to_write` says whether the latter cannot do without a trials file."""
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("probe", "try seeds with the expert"), ("write", "write the list of episodes")):
        command = commands.add_parser(name, help=text)
        command.add_argument("directory", type=Path)
        needed = trials_to_write or name == "probe"
        command.add_argument("--trials", type=Path, required=needed, metavar="FILE")
        if name == "probe":
            command.add_argument("--made-by", required=True, metavar="WHO")
            command.add_argument("--task", action="append", default=[], dest="tasks", metavar="T")
    return commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the module's commands."""
    parser = argparse.ArgumentParser(prog="python -m proctor.benchmarks.robotwin.manifest")
    add_commands(parser, trials_to_write=True)
    return run(parser.parse_args(arguments), _run)


def run(options: argparse.Namespace, command: Callable[[argparse.Namespace], str]) -> int:
    """Print what a command says, or the error."""
    try:
        print(command(options))
    except ProctorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _run(options: argparse.Namespace) -> str:
    definition = read_definition(options.directory)
    settings = read_settings(definition)
    trials = Trials(options.trials)
    checkout = checkouts.require("robotwin", VARIABLE, settings.commit)
    if options.command == "write":
        episodes = write_manifest(options.directory, definition, trials, checkout)
        return f"{options.directory.name}: {len(episodes)} episodes written"
    tasks = choose_tasks(definition, options.tasks)
    trials.begin(describe_session(definition, settings.commit, options.made_by))
    probe(definition, trials, tasks, expert_of(definition))
    return f"{options.trials}: seeds of {len(tasks)} tasks"


def _gpu() -> str:
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=GPU_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main())
