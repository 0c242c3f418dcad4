"""Conformance kit for benchmarks: does an environment keep the rules of `proctor.benchmarks.contract`?

In the environment's interpreter, without pytest:

    python -m proctor.testing.benchmarks conf/benchmarks/<id> [--tasks a,b] [--representations x,y]

prints one line per check. Its exit status is 1 if any failed, or 5, after a line that begins with STOP, where
the simulator cannot run. With - for the directory, the version comes on standard input
(`proctor.benchmarks.orders`). Where the simulator and pytest live together:

    class TestMine(BenchmarkConformance):
        def version(self) -> BenchmarkVersion:
            return find_version("mine-v1")
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.benchmarks.contract import Family
from proctor.benchmarks.orders import STDIN, answers, read_order
from proctor.benchmarks.registry import find_family
from proctor.benchmarks.spec import find_action
from proctor.benchmarks.version import BenchmarkVersion, load_version
from proctor.errors import EnvironmentMissing, UnknownNameError
from proctor.testing.benchmark_rules import CHECKS, Check, Subject

CANNOT_RUN: Final = 5
"""Exit status where a check found that the simulator cannot run here, so that no other was tried."""


@dataclass(frozen=True)
class Finding:
    """What one check found: `problem` is empty if the rule is kept."""

    task: str
    representation: str
    check: str
    problem: str


class BenchmarkConformance:
    """The checks as a pytest class. Override `version`, and `tasks` to try others than the first.

    Every action representation of the version is tried, unless `representations` names some.
    """

    def version(self) -> BenchmarkVersion:
        """Return the version to examine."""
        raise NotImplementedError("override version() to return the BenchmarkVersion to examine")

    def tasks(self) -> Sequence[str]:
        """Return the ids of the tasks to examine."""
        return [self.version().definition.tasks[0].id]

    def representations(self) -> Sequence[str]:
        """Return the names of the action representations to examine."""
        return [action.representation for action in self.version().definition.actions]

    def family(self) -> Family:
        """Return the family; by default the one the definition names."""
        return find_family(self.version().definition.family)

    def _run(self, check: Check) -> None:
        for subject in _subjects(self.family(), self.version(), self.tasks(), self.representations()):
            check(subject)


def _as_test(check: Check) -> Callable[[BenchmarkConformance], None]:
    def test(self: BenchmarkConformance) -> None:
        self._run(check)

    test.__doc__ = check.__doc__
    return test


for _check in CHECKS:
    setattr(BenchmarkConformance, f"test_{_check.__name__}", _as_test(_check))


def examine(
    version: BenchmarkVersion,
    tasks: Sequence[str] | None = None,
    representations: Sequence[str] | None = None,
) -> Iterator[Finding]:
    """Run every check on the named tasks (the first by default) in the named representations (all of them).

    One finding per task, representation and check.

    Raises `EnvironmentMissing` where the simulator cannot run.
    """
    family = find_family(version.definition.family)
    for subject in _subjects(family, version, tasks, representations):
        name, representation = subject.task.id, subject.action.representation
        for check in CHECKS:
            try:
                check(subject)
            except EnvironmentMissing:
                raise
            except Exception as error:  # whatever an adapter does wrong is a finding
                yield Finding(name, representation, check.__name__, f"{type(error).__name__}: {error}")
            else:
                yield Finding(name, representation, check.__name__, "")


def _subjects(
    family: Family,
    version: BenchmarkVersion,
    tasks: Sequence[str] | None,
    representations: Sequence[str] | None,
) -> Iterator[Subject]:
    definition = version.definition
    known = {task.id: task for task in definition.tasks}
    actions = [find_action(definition, name) for name in representations or ()] or definition.actions
    for name in tasks or list(known)[:1]:
        if name not in known:
            raise UnknownNameError("task", name, known)
        for action in actions:
            yield Subject(family, version, known[name], action)


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine a version and print one line per check. Returns 1 if any failed, 5 if none can be tried."""
    parser = argparse.ArgumentParser(prog="python -m proctor.testing.benchmarks")
    parser.add_argument("directory", type=Path, help="directory of the version")
    parser.add_argument("--tasks", type=_names, help="task ids, comma-separated; the first by default")
    parser.add_argument(
        "--representations", type=_names, help="action representations, comma-separated; all by default"
    )
    options = parser.parse_args(arguments)
    version = read_order() if options.directory == STDIN else load_version(options.directory)
    failed = 0
    with answers() as stream:
        try:
            for finding in examine(version, options.tasks, options.representations):
                failed += bool(finding.problem)
                mark = "FAIL" if finding.problem else "ok  "
                where = f"{finding.task} {finding.representation} {finding.check}"
                print(f"{mark} {where} {finding.problem}".rstrip(), file=stream, flush=True)
        except EnvironmentMissing as error:
            print(f"STOP {version.definition.id}: {error}", file=stream, flush=True)
            return CANNOT_RUN
    return 1 if failed else 0


def _names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    sys.exit(main())
