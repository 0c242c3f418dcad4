"""Merged inference: a policy that costs 20 ms and 1 ms per observation, eight clients, beside the ideal.

Each client asks again as soon as it was answered. The ideal is every inference serving all clients at once,
with nothing in between: clients / (20 ms + clients x 1 ms). The same policy is measured without merging too.

    python benches/batching.py [--json] [--repeats 3] [--seconds 3]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import numpy as np

from proctor.policy import (
    ActionChunk,
    ActionSpec,
    BenchmarkSpec,
    EpisodeContext,
    FeatureKind,
    FeatureSpec,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)
from proctor.wire.local import PolicyServer
from proctor.wire.opening import open_session, prepare

CLIENTS = 8
FIXED_S = 0.020
EACH_S = 0.001
IDEAL_HZ = CLIENTS / (FIXED_S + CLIENTS * EACH_S)
SPEC = BenchmarkSpec(
    name="batching",
    suite="all",
    protocol_version="1",
    features=(FeatureSpec("images.front", FeatureKind.IMAGE, dtype="uint8", shape=(224, 224, 3)),),
    action=ActionSpec(name="joints", description="", dimension=7),
    supported_action_representations=("joints-v1",),
    default_action_representation="joints-v1",
)

_fork = multiprocessing.get_context("fork")


class AcceleratedPolicy(Policy):
    """Costs what a model on an accelerator costs: waiting, mostly independent of the batch."""

    def __init__(self, largest: int) -> None:
        self.largest = largest

    def load(self, context: SessionContext) -> PolicyCapabilities:
        """Promise batch invariance, so that requests are merged up to `largest`."""
        self.chunk = ActionChunk(np.zeros((1, 7), np.float32))
        return PolicyCapabilities((SPEC.name,), (), max_batch_size=self.largest, batch_invariant=True)

    def act(self, observation: Observation) -> ActionChunk:
        """A batch of one."""
        return self.act_batch((observation,))[0]

    def act_batch(self, observations: tuple[Observation, ...]) -> tuple[ActionChunk, ...]:
        """Wait, as for a device."""
        time.sleep(FIXED_S + EACH_S * len(observations))
        return (self.chunk,) * len(observations)


def measure(largest: int, seconds: float) -> float:
    """Observations answered per second, all clients together."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "socket")
        server = _fork.Process(target=_serve, args=(largest, path), daemon=True)
        server.start()
        try:
            prepare(f"unix:{path}", SessionContext("bench", "", SPEC), timeout_s=10)
            return sum(_run_clients(path, seconds))
        finally:
            server.kill()
            server.join()


def _serve(largest: int, path: Path) -> None:
    PolicyServer(AcceleratedPolicy(largest), path).serve()


def _run_clients(path: Path, seconds: float) -> list[float]:
    barrier, pipes, processes = _fork.Barrier(CLIENTS), [], []
    for number in range(CLIENTS):
        here, there = _fork.Pipe(duplex=False)
        process = _fork.Process(target=_client, args=(path, number, seconds, barrier, there))
        process.start()
        pipes.append(here)
        processes.append(process)
    rates = [float(pipe.recv()) for pipe in pipes]
    for process in processes:
        process.join()
    return rates


def _client(path: Path, number: int, seconds: float, barrier: Any, result: Pipe) -> None:
    session, episode = open_session(f"unix:{path}", SPEC, act_timeout_s=10), f"episode-{number}"
    image = np.zeros((224, 224, 3), np.uint8)
    session.begin(EpisodeContext(episode, "task"))
    session.act(Observation(episode, 0, {"images.front": image}))
    barrier.wait()
    count, begun = 0, time.perf_counter()
    while time.perf_counter() < begun + seconds:
        session.act(Observation(episode, count, {"images.front": image}))
        count += 1
    result.send(count / (time.perf_counter() - begun))
    session.close()


def report(repeats: int, seconds: float) -> dict[str, Any]:
    """Merged and unmerged, taking turns."""
    merged, single = [], []
    for _ in range(repeats):
        merged.append(measure(CLIENTS, seconds))
        single.append(measure(1, seconds))
    share = [rate / IDEAL_HZ for rate in merged]
    return {
        "bench": "batching",
        "clients": CLIENTS,
        "ideal_hz": round(IDEAL_HZ, 2),
        "repeats": repeats,
        "seconds": seconds,
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "merged_hz": spread(merged),
        "share_of_ideal": spread(share),
        "unmerged_hz": spread(single),
    }


def spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 4),
        "min": round(min(values), 4),
        "max": round(max(values), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    result = report(options.repeats, options.seconds)
    if options.json:
        print(json.dumps(result))
        return
    for name in ("merged_hz", "unmerged_hz", "share_of_ideal"):
        figures = result[name]
        print(f"{name:15} {figures['median']:8.2f} [{figures['min']:.2f} to {figures['max']:.2f}]")
    print(f"{'ideal_hz':15} {result['ideal_hz']:8.2f}")


if __name__ == "__main__":
    main()
