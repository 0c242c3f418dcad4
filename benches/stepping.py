"""How fast a benchmark steps: looked at after every control step, in chunks of ten, and never.

    python benches/stepping.py metaworld-mt50-v1 --json
    python benches/stepping.py libero-v1 --task goal-1 --cameras images.primary

One lane of the benchmark's first task (or --task), in its own render profile, in its built environment; every
camera that the version has (or --cameras); small random motion about holding still. Prints control steps per
second (median over windows of ten steps) and the seconds that making the lane and a start with its first
frames take. `docs/benchmarks/table.py stepping` takes what --json prints into the table of benchmarks.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WINDOW = 10
WAYS = {"every step": 1, "chunk of 10": 10, "never": 0}
UNSEEN = 10
"""How many times as many steps are taken where nothing is looked at: they take milliseconds."""


def measure(version: Any, name: str | None, cameras: Sequence[str] | None, steps: int) -> dict[str, Any]:
    """Step one lane in every way; returns the object that is printed."""
    from proctor.benchmarks.registry import find_family
    from proctor.evaluation.platform import renderer
    from proctor.testing.benchmark_rules import Subject

    definition = version.definition
    task = next(each for each in definition.tasks if name in (None, each.id))
    subject = Subject(find_family(definition.family), version, task, definition.actions[0])
    looked_at = list(cameras or subject.images)
    episode = subject.episodes[0]
    made_s, lane = _timed(lambda: subject.family.open(definition, task, subject.action))
    lane.begin(episode, looked_at)  # the first frames of a lane make its render context
    begun_s, _ = _timed(lambda: lane.begin(episode, looked_at))
    actions = subject.actions(lane)
    rates = {}
    for way, every in WAYS.items():
        lane.begin(episode, ())
        taken = steps if every else UNSEEN * steps
        rates[way] = _rate(_stepper(lane, episode, actions, looked_at, every), taken)
    drawn_by = renderer(lane)  # while its context is there
    lane.close()
    shapes = {feature.name: list(feature.shape or ()) for feature in definition.features}
    return {
        "bench": "stepping",
        "benchmark": definition.id,
        "hash": version.hash,
        "task": task.id,
        "render_profile": definition.render.name,
        "cameras": {camera: shapes[camera][:2] for camera in looked_at},
        "steps_per_s": rates,
        "seconds": {"make a lane": made_s, "start, looked at": begun_s},
        "renderer": drawn_by,
        "load": round(os.getloadavg()[0], 1),
    }


def _stepper(
    lane: Any, episode: Any, actions: Sequence[Any], cameras: list[str], every: int
) -> Callable[[], None]:
    numbered = enumerate(itertools.cycle(actions), start=1)

    def step() -> None:
        number, action = next(numbered)
        if lane.step(action, cameras if every and number % every == 0 else ()).terminated:
            lane.begin(episode, ())

    return step


def _rate(step: Callable[[], None], steps: int) -> float:
    windows_s = []
    for _ in range(max(1, steps // WINDOW)):
        began = time.perf_counter()
        for _ in range(WINDOW):
            step()
        windows_s.append(time.perf_counter() - began)
    return round(WINDOW / statistics.median(windows_s), 1)


def _timed(attempt: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    made = attempt()
    return round(time.perf_counter() - began, 2), made


def main() -> None:
    """Measure, in the simulator's interpreter."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("benchmark", help="an id, a directory, or a file of your own")
    parser.add_argument("--task", help="the first by default")
    parser.add_argument("--cameras", help="image features, comma-separated; all by default")
    parser.add_argument("--steps", type=int, default=30, help="control steps per way that looks")
    parser.add_argument("--python", help="interpreter for a benchmark of your own")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--here", action="store_true", help="measure in this interpreter")
    options = parser.parse_args()
    if not options.here:
        sys.exit(_run_elsewhere(options.benchmark, options.python))
    from proctor.benchmarks.orders import answers, read_order

    with answers() as stream:
        cameras = options.cameras.split(",") if options.cameras else None
        result = measure(read_order(), options.task, cameras, options.steps)
        print(json.dumps(result) if options.json else _text(result), file=stream)


def _run_elsewhere(benchmark: str, python: str | None) -> int:
    from proctor.benchmarks.orders import encode_order
    from proctor.benchmarks.references import open_version
    from proctor.launch.starts import place_of

    version = open_version(benchmark)
    place = place_of(version, python)
    environ = {**place.variables, "PYTHONPATH": str(ROOT / "src")}
    command = [str(place.interpreter), __file__, "--here", *sys.argv[1:]]
    return subprocess.run(command, input=encode_order(version), env=environ, check=False).returncode


def _text(result: dict[str, Any]) -> str:
    lines = [f"{way:20} {rate:10.1f} steps/s" for way, rate in result["steps_per_s"].items()]
    lines += [f"{what:20} {seconds:10.2f} s" for what, seconds in result["seconds"].items()]
    sizes = ", ".join(f"{camera} {'×'.join(map(str, size))}" for camera, size in result["cameras"].items())
    return "\n".join([*lines, f"{result['benchmark']}, {result['task']}; {sizes}; load {result['load']}"])


if __name__ == "__main__":
    main()
