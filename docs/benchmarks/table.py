"""The table of benchmarks in README.md: what is in the versions, beside what was measured of them.

    python docs/benchmarks/table.py                      write the table anew
    python docs/benchmarks/table.py rate runs/NAME...    first take the rate of a finished run of an oracle
    python docs/benchmarks/table.py stepping ID...       first measure their speed (benches/stepping.py)

Rates and speeds are kept in `measured.toml`, each with the hash of the version that it was measured on. A
test fails when that hash is no longer the version's, and when README.md is not what this writes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import tomllib

from proctor.benchmarks.registry import FAMILIES
from proctor.benchmarks.toml_text import to_toml
from proctor.benchmarks.version import BenchmarkVersion, load_version
from proctor.launch import environments
from proctor.parsing import parse
from proctor.results import load_results, wilson
from proctor.results.tables import plural

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE, FACTS = HERE / "README.md", HERE / "measured.toml"
VERSIONS = ROOT / "src" / "proctor" / "conf" / "benchmarks"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"
NO_ROBOTS: Final = ("toy",)
"""Families that say nothing about robots."""
HEADER: Final = (
    "family", "version", "runs", "hash", "tasks × starts", "oracle",
    "frames", "every step", "chunk of 10", "never", "load",
)  # fmt: skip


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fact, and the version that it is about."""

    hash: str


class Rate(Measured, frozen=True, forbid_unknown_fields=True):
    """What a finished run of an oracle came to."""

    policy: str
    successes: int
    episodes: int
    tasks: int


class Stepping(Measured, frozen=True, forbid_unknown_fields=True):
    """What `benches/stepping.py` printed."""

    task: str
    frames: str
    """How many of which size are rendered at an observation."""
    every_step: float
    chunk_of_10: float
    never: float
    load: float
    renderer: str


class Facts(msgspec.Struct, forbid_unknown_fields=True):
    """All of `measured.toml`."""

    rate: dict[str, Rate] = {}
    stepping: dict[str, Stepping] = {}


def read_facts() -> Facts:
    """Raises `UsageError` naming the place of a fact that is none."""
    return parse(tomllib.loads(FACTS.read_text()), Facts, str(FACTS))


def write_facts(facts: Facts) -> None:
    """One table per fact, sorted by version."""
    text = "# Written by table.py, from finished runs and benches/stepping.py.\n"
    for kind, by_version in msgspec.to_builtins(facts).items():
        for version, fact in sorted(by_version.items()):
            text += f"\n[{kind}.{version}]\n{to_toml(fact)}"
    FACTS.write_text(text)


def take_rate(facts: Facts, run: Path) -> None:
    """Raises `UsageError` for a run that is not complete."""
    results = load_results(run)
    benchmark = results.run.benchmark
    rate = results.summary.headline
    if rate is None:
        sys.exit(f"{run} has no headline: {'; '.join(results.summary.no_headline)}")
    facts.rate[benchmark.id] = Rate(
        hash=benchmark.hash,
        policy=results.run.policy.spec.removeprefix(f"{ROOT}/"),
        successes=int(rate.successes),
        episodes=rate.trials,
        tasks=rate.tasks,
    )


def take_stepping(facts: Facts, version: str) -> None:
    """Measure one version, now."""
    command = [sys.executable, str(ROOT / "benches" / "stepping.py"), version, "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    speeds = told["steps_per_s"]
    facts.stepping[version] = Stepping(
        hash=told["hash"],
        task=told["task"],
        frames=_frames_text(told["cameras"].values()),
        every_step=speeds["every step"],
        chunk_of_10=speeds["chunk of 10"],
        never=speeds["never"],
        load=told["load"],
        renderer=told["renderer"],
    )


@cache
def shipped() -> list[BenchmarkVersion]:
    """Every version that comes with proctor, by family and id."""
    versions = [load_version(path.parent) for path in VERSIONS.glob("*/benchmark.toml")]
    return sorted(versions, key=lambda version: (version.definition.family, version.definition.id))


def ci_environments() -> set[str]:
    """Those that `make test` builds."""
    lines = [line.partition(":=") for line in (ROOT / "Makefile").read_text().splitlines()]
    return {
        name
        for variable, _, names in lines
        if variable.strip() in ("ENVIRONMENTS", "SIMULATORS")
        for name in names.split()
    }


def rows(facts: Facts) -> Iterator[tuple[str, ...]]:
    """One per version; one for a family that has none."""
    versions = shipped()
    for version in versions:
        yield _row(version, facts)
    without = set(FAMILIES.built_in) - {version.definition.family for version in versions} - set(NO_ROBOTS)
    for family in sorted(without):
        yield (family, "your own: [tutorial](../tutorials/own-benchmark.md)", "CI", *"––––––––")


def _row(version: BenchmarkVersion, facts: Facts) -> tuple[str, ...]:
    definition = version.definition
    rate, stepping = facts.rate.get(definition.id), facts.stepping.get(definition.id)
    speeds = (stepping.every_step, stepping.chunk_of_10, stepping.never, stepping.load) if stepping else ()
    seal = "" if version.status == "frozen" else " draft"
    return (
        definition.family,
        f"`{definition.id}`",
        where_it_runs(definition.environment),
        f"`{version.hash[:12]}`{seal}",
        f"{len(definition.tasks)} × {_starts(version)}",
        _rate_text(rate, len(definition.tasks)) if rate else "–",
        stepping.frames if stepping else "–",
        *(map(_speed_text, speeds) if speeds else "––––"),
    )


def where_it_runs(environment: str) -> str:
    """`CI`, or what else a machine needs."""
    if environment in ci_environments():
        return "CI"
    source = environments.find(environment).source
    if source is not None and source.imports:
        return f"with assets: `proctor env check {environment}`"
    assets = f"; some with assets: `proctor env check {environment}`" if source is not None else ""
    return f"`proctor env build {environment}`{assets}"


def _starts(version: BenchmarkVersion) -> str:
    tried = [each for each in version.episodes if each.settings.get("seeds") != "candidate"]
    if not tried:
        return "no seeds yet"
    by_task = Counter(episode.task for episode in tried)
    counts = {by_task[task.id] for task in version.definition.tasks}
    return "–".join(map(str, sorted({min(counts), max(counts)})))


def _rate_text(rate: Rate, tasks: int) -> str:
    interval = wilson(rate.successes, rate.episodes)
    share, low, high = rate.successes / rate.episodes, interval.low, interval.high
    counts = f"{rate.successes:,} of {rate.episodes:,}"
    if rate.tasks != tasks:
        counts += f" in {plural(rate.tasks, 'task')}"
    name = Path(rate.policy.partition(":")[0]).stem
    return f"{100 * share:.1f} % ({100 * low:.1f}–{100 * high:.1f}), {counts}, `{name}`"


def _frames_text(sizes: Iterable[Sequence[int]]) -> str:
    counts = Counter(f"{height} × {width}" for height, width in sizes)
    return ", ".join(f"{count} of {size}" for size, count in sorted(counts.items()))


def _speed_text(speed: float) -> str:
    return f"{speed:.1f}" if speed < 100 else f"{speed:,.0f}"


def table(facts: Facts) -> str:
    """Markdown."""
    lines = [HEADER, ("---",) * len(HEADER), *rows(facts)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def page(text: str, facts: Facts) -> str:
    """The page with its table written anew."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + table(facts) + END + after


def stale(facts: Facts) -> list[str]:
    """A line for every fact about a version that is not there or has another hash now, and how to mend it."""
    hashes = {version.definition.id: version.hash for version in shipped()}
    mending = {"rate": "run the oracle again, then table.py rate", "stepping": "table.py stepping"}
    return [
        f"{kind} of {version} was measured on {fact.hash[:12]}: {mending[kind]}"
        for kind, by_version in (("rate", facts.rate), ("stepping", facts.stepping))
        for version, fact in by_version.items()
        if hashes.get(version) != fact.hash
    ]


def main() -> None:
    """Take facts, if any are named, and write the page."""
    kind, *names = sys.argv[1:] or ["table"]
    facts = read_facts()
    for name in names:
        if kind == "rate":
            take_rate(facts, Path(name))
        elif kind == "stepping":
            take_stepping(facts, name)
        else:
            sys.exit(f"{kind!r} is none of: rate, stepping")
        write_facts(facts)
    PAGE.write_text(page(PAGE.read_text(), facts))


if __name__ == "__main__":
    main()
