"""Runs the conformance kit for benchmarks where the simulator is, from the outside."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Sequence
from typing import Final

from proctor.benchmarks.orders import STDIN, encode_order
from proctor.benchmarks.spec import find_action
from proctor.benchmarks.version import BenchmarkVersion, verify
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.launch.exit_codes import ExitCode
from proctor.launch.starts import place_of
from proctor.launch.supervisor import ExitStatus
from proctor.launch.surroundings import BOOTSTRAP

KIT_MODULE: Final = "proctor.testing.benchmarks"
_EXITS: Final = {0: ExitCode.COMPLETE, 1: ExitCode.CONFORMANCE, 5: ExitCode.ENVIRONMENT}
"""What the kit's exit statuses mean; any other is the end of its process."""


def check_benchmark(
    version: BenchmarkVersion,
    *,
    tasks: Sequence[str] | None,
    representations: Sequence[str] | None,
    python: str | None,
    tell: Callable[[str], None],
) -> ExitCode:
    """Check one version, `tell` each finding as it comes, and return the exit status.

    What the simulator prints appears on standard error. Where a checkout or an asset is missing, the last
    line says so, and the status is ENVIRONMENT. Raises UnknownNameError for a task or representation,
    VersionChangedError for a frozen version whose files changed, EnvironmentMissing where the environment is
    not built, and BenchmarkFault where its process ends before all was checked.
    """
    verify(version)
    options = [*_named("tasks", tasks), *_named("representations", representations)]
    _refuse_unknown(version, tasks, representations)
    place = place_of(version, python)
    command = [str(place.interpreter), str(BOOTSTRAP), KIT_MODULE, str(STDIN), *options]
    last = "the start"
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(place.variables)
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(encode_order(version))
            process.stdin.close()
        for line in process.stdout:
            last = line.decode(errors="replace").rstrip("\n")
            tell(last)
        status = process.wait()
    if status not in _EXITS:
        how = ExitStatus.of(status)
        raise BenchmarkFault(f"{version.definition.id}: the simulator's process ended, {how}, after: {last}")
    return _EXITS[status]


def _named(option: str, names: Sequence[str] | None) -> list[str]:
    return [f"--{option}", ",".join(names)] if names else []


def _refuse_unknown(
    version: BenchmarkVersion, tasks: Sequence[str] | None, representations: Sequence[str] | None
) -> None:
    known = [task.id for task in version.definition.tasks]
    for task in tasks or ():
        if task not in known:
            raise UnknownNameError("task", task, known)
    for name in representations or ():
        find_action(version.definition, name)
