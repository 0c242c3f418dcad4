"""What it saves to render only what the policy is asked about.

    python benches/observe.py --json

One episode of aloha-sim-v1 in its reference render profile, one 640 × 480 camera, the same expert, three ways
and once without any observation:

    every step   chunks of ten, but a frame after every step, as the simulator's own environment makes them
    chunk 1      a frame and a question after every step
    chunk 10     a frame and a question after every tenth step

Prints control steps per second (median over windows of ten steps, with the 10th and 90th percentile) and
whether outcome, steps, final joints and the frames at every tenth step are identical.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
EXPERT = f"{ROOT / 'examples' / 'policies' / 'aloha_expert.py'}:AlohaExpert"
CAMERA, JOINTS, POSES = "images.top", "state.joints", "privileged.environment_state"
WINDOW = 10


@dataclass(frozen=True)
class Way:
    """One way to run the episode: how many actions a question is worth, and when to observe."""

    name: str
    chunk: int
    observe_every: int | None


WAYS = (
    Way("no observation", 10, None),
    Way("every step", 10, 1),
    Way("chunk 1", 1, 1),
    Way("chunk 10", 10, 10),
)


@dataclass
class Trace:
    """What one way did, and how long each window of ten steps took."""

    success_step: int | None = None
    frames: dict[int, str] = field(default_factory=dict)
    joints: list[float] = field(default_factory=list)
    windows_s: list[float] = field(default_factory=list)


def run_way(environment: Any, policy: Any, episode: Any, way: Way) -> Trace:
    """Run the episode to its first success, at most to its horizon."""
    from proctor.policy import EpisodeContext, Observation

    trace, step, horizon = Trace(), 0, episode.segments[0].horizon
    observation = environment.begin(episode, (CAMERA, JOINTS, POSES)).observation
    policy.reset(EpisodeContext(episode.id, episode.task, horizon=horizon))
    began = time.perf_counter()
    while step < horizon and trace.success_step is None:
        actions = policy.act(Observation(episode.id, step, observation)).actions[: way.chunk]
        for action in actions:
            step += 1
            observed = way.observe_every is not None and step % way.observe_every == 0
            result = environment.step(action, (CAMERA, JOINTS, POSES) if observed else ())
            observation = result.observation or observation
            if step % WINDOW == 0:
                trace.windows_s.append(time.perf_counter() - began)
                if observed:
                    trace.frames[step] = hashlib.sha256(result.observation[CAMERA].tobytes()).hexdigest()
                began = time.perf_counter()
            if result.success:
                trace.success_step = step
                break
    policy.end_episode(episode.id)
    trace.joints = environment.step(environment.hold_action(None), (JOINTS,)).observation[JOINTS].tolist()
    return trace


def measure() -> dict[str, Any]:
    """Run every way once; returns the object that is printed."""
    from proctor.benchmarks.registry import find_family, find_version
    from proctor.policy.loading import make_policy

    version = find_version("aloha-sim-v1")
    definition, episode = version.definition, version.episodes[0]
    environment = find_family(definition.family).open(definition, definition.tasks[0], definition.actions[0])
    environment.begin(episode, (CAMERA,))  # the first frame makes the render context
    traces = {
        way.name: run_way(environment, make_policy(EXPERT, {"chunk": way.chunk}), episode, way)
        for way in WAYS
    }
    environment.close()
    rates = {name: _rates(trace.windows_s) for name, trace in traces.items()}
    return {
        "bench": "observe",
        "benchmark": definition.id,
        "render_profile": definition.render.name,
        "camera": CAMERA,
        "episode": episode.id,
        "steps_per_s": rates,
        "speedup_chunk10_over_every_step": rates["chunk 10"]["median"] / rates["every step"]["median"],
        "speedup_chunk10_over_chunk1": rates["chunk 10"]["median"] / rates["chunk 1"]["median"],
        "success_step": traces["chunk 10"].success_step,
        "identical": _identical(list(traces.values())),
    }


def _rates(windows_s: list[float]) -> dict[str, float]:
    fast, middle, slow = np.percentile(windows_s, [10, 50, 90])
    return {"median": WINDOW / middle, "p10": WINDOW / slow, "p90": WINDOW / fast, "windows": len(windows_s)}


def _identical(traces: list[Trace]) -> bool:
    outcomes = {(trace.success_step, tuple(trace.joints)) for trace in traces}
    frames = [trace.frames for trace in traces if trace.frames]
    return len(outcomes) == 1 and all(each == frames[0] for each in frames)


def main() -> None:
    """Measure, in the simulator's interpreter."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--python", help="the simulator's interpreter (the built `aloha` environment by default)"
    )
    parser.add_argument("--here", action="store_true", help="measure in this interpreter")
    options = parser.parse_args()
    if not options.here:
        sys.exit(_run_elsewhere(options.python, options.json))
    result = measure()
    print(json.dumps(result) if options.json else _text(result))


def _run_elsewhere(python: str | None, as_json: bool) -> int:
    from proctor.launch import environments, graphics

    interpreter = python or str(environments.interpreter("aloha"))
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "MUJOCO_GL": graphics.choose().backend,
    }
    command = [interpreter, __file__, "--here", *(["--json"] if as_json else [])]
    return subprocess.run(command, env=environ, check=False).returncode


def _text(result: dict[str, Any]) -> str:
    lines = [f"{name:15} {rate['median']:8.1f} steps/s" for name, rate in result["steps_per_s"].items()]
    ratio = result["speedup_chunk10_over_every_step"]
    return "\n".join([*lines, f"chunk 10 / every step: {ratio:.1f}, identical: {result['identical']}"])


if __name__ == "__main__":
    main()
