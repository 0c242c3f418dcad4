"""The frames of a lane, as digests: here, and as the first lane of a new process.

    python -m proctor.testing.fresh_process TASK REPRESENTATION < ORDER

prints the digests of the first episode's frames as JSON. The version comes on standard input
(`proctor.benchmarks.orders`).
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

import proctor
from proctor.benchmarks.contract import Environment, Episode
from proctor.benchmarks.orders import answers, encode_order, read_order
from proctor.benchmarks.registry import find_family
from proctor.benchmarks.spec import find_action
from proctor.benchmarks.version import BenchmarkVersion
from proctor.limits import BOOT_TIMEOUT_S

EVERY: Final = 20
"""Control steps from one look to the next."""

Digests = dict[str, str]
"""SHA-256 by `<step> <feature>`."""


def digests_in_a_new_process(version: BenchmarkVersion, task: str, representation: str) -> Digests:
    """What `main` prints in another process of this interpreter. Raises `AssertionError` if it fails."""
    bootstrap = Path(proctor.__file__).parent / "_bootstrap.py"
    command = [sys.executable, str(bootstrap), "proctor.testing.fresh_process", task, representation]
    done = subprocess.run(
        command, input=encode_order(version), capture_output=True, timeout=BOOT_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise AssertionError(f"a new process could not show its frames: {last}")
    return msgspec.json.decode(done.stdout, type=Digests)


def digests(
    environment: Environment,
    episode: Episode,
    actions: Callable[[Environment], Iterable[NDArray[Any]]],
    names: list[str],
) -> Digests:
    """Begin an episode and look at its start and after every `EVERY` of these actions."""
    seen = {0: environment.begin(episode, names).observation}
    for step, action in enumerate(actions(environment), start=1):
        result = environment.step(action, names if step % EVERY == 0 else ())
        seen[step] = result.observation
        if result.terminated:
            break
    return {
        f"{step} {name}": hashlib.sha256(np.asarray(frame).tobytes()).hexdigest()
        for step, observation in seen.items()
        for name, frame in observation.items()
    }


def main() -> None:
    """Print the digests of the task and representation that the arguments name."""
    from proctor.testing.benchmark_rules import Subject

    version = read_order()
    name, representation = sys.argv[1:]
    task = next(each for each in version.definition.tasks if each.id == name)
    action = find_action(version.definition, representation)
    with answers() as stream:
        subject = Subject(find_family(version.definition.family), version, task, action)
        with subject.environment() as environment:
            found = digests(environment, subject.episodes[0], subject.actions, subject.images)
        print(msgspec.json.encode(found).decode(), file=stream)


if __name__ == "__main__":
    main()
