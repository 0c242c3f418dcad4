"""Claim and complete, at the store and over its HTTP API: how long a worker waits, in short and long queues.

Every client claims an item of one episode, reports the episode and completes the item, as fast as it is
answered, until a queue of 1,000 and of 10,000 items is empty. `claim_p99_growth` is the p99 of the long
queue over that of the short one: about 1 when a claim does not cost more where there are more items. Clients
are threads of this process; over the API the coordinator is a process of its own.

    python benches/queue.py [--json] [--seconds 60]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from proctor.coordinator.configuration import Ready, ServerConfig
from proctor.coordinator.plan import RunPlan
from proctor.coordinator.store import New, RunStore, open_store
from proctor.evaluation.protocol import Accepted, AttemptRef, ClaimReply, ClaimRequest, EpisodeReport
from proctor.testing.store_driver import ref_of, toy_plan, toy_record

CLIENTS = (1, 16, 64)
ITEMS = (1_000, 10_000)
TASKS = ("reach", "park", "cliff", "tour")
GOAL_P99_MS = 250.0

T = TypeVar("T")


class StoreClient:
    """Asks the store of this process."""

    def __init__(self, store: RunStore) -> None:
        self.store = store

    def claim(self, request: ClaimRequest) -> ClaimReply:
        """See RunStore."""
        return self.store.claim(request).result()

    def report(self, request: EpisodeReport) -> Accepted:
        """See RunStore."""
        return self.store.report(request).result()

    def complete(self, ref: AttemptRef) -> Accepted:
        """See RunStore."""
        return self.store.complete(ref).result()


class HttpClient:
    """Asks a coordinator process over one connection."""

    def __init__(self, port: int, token: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"Authorization": f"Bearer {token}"}

    def claim(self, request: ClaimRequest) -> ClaimReply:
        """See the worker API."""
        return self._ask("/v1/claim", request, ClaimReply)

    def report(self, request: EpisodeReport) -> Accepted:
        """See the worker API."""
        return self._ask("/v1/episodes", request, Accepted)

    def complete(self, ref: AttemptRef) -> Accepted:
        """See the worker API."""
        return self._ask("/v1/complete", ref, Accepted)

    def _ask(self, path: str, message: object, kind: type[T]) -> T:
        self.connection.request("POST", path, msgspec.json.encode(message), self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{path}: {answer.status} {body.decode()}")
        return msgspec.json.decode(body, type=kind)


Client = StoreClient | HttpClient
Opener = Callable[[Path, RunPlan], AbstractContextManager[Callable[[], Client]]]


@contextmanager
def store(directory: Path, plan: RunPlan) -> Iterator[Callable[[], Client]]:
    """Clients of a store in this process."""
    opened = open_store(f"sqlite:///{directory / 'run.db'}", New(plan), journal=directory / "episodes.jsonl")
    try:
        yield lambda: StoreClient(opened)
    finally:
        opened.close()


@contextmanager
def api(directory: Path, plan: RunPlan) -> Iterator[Callable[[], Client]]:
    """Clients of a coordinator process."""
    config = ServerConfig(directory=str(directory), start=New(plan), token=secrets.token_urlsafe(32))
    command = [sys.executable, "-m", "proctor.coordinator"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(config) + b"\n")
        process.stdin.flush()
        ready = msgspec.json.decode(process.stdout.readline(), type=Ready)
        port = int(ready.url.rpartition(":")[2])
        yield lambda: HttpClient(port, config.token)
        process.stdin.close()


@dataclass
class Waits:
    """What one cell measured, milliseconds."""

    claim: list[float] = field(default_factory=list)
    complete: list[float] = field(default_factory=list)


def work(client: Client, worker: str, end: float, waits: Waits) -> None:
    """One client until the time is over or nothing is left."""
    task: str | None = None
    while time.perf_counter() < end:
        begun = time.perf_counter()
        lease = client.claim(ClaimRequest(worker=worker, task=task)).lease
        waits.claim.append(1e3 * (time.perf_counter() - begun))
        if lease is None:
            return
        ref, task = ref_of(lease, worker), lease.episodes[0].task
        client.report(EpisodeReport(attempt=ref, record=toy_record(lease.episodes[0], worker=worker)))
        begun = time.perf_counter()
        client.complete(ref)
        waits.complete.append(1e3 * (time.perf_counter() - begun))


def measure(opener: Opener, clients: int, items: int, seconds: float) -> dict[str, Any]:
    """One cell of the table."""
    plan = toy_plan(TASKS, episodes=items // len(TASKS), window=1)
    with tempfile.TemporaryDirectory() as directory, opener(Path(directory), plan) as make_client:
        waits = [Waits() for _ in range(clients)]
        begun = time.perf_counter()
        threads = [
            threading.Thread(target=work, args=(make_client(), f"w{i}", begun + seconds, waits[i]))
            for i in range(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.perf_counter() - begun
    completed = [wait for each in waits for wait in each.complete]
    shares = [len(each.complete) for each in waits]
    return {
        "at": opener.__name__,
        "clients": clients,
        "items": items,
        "completed": len(completed),
        "items_per_s": round(len(completed) / elapsed, 1),
        "claim_ms": percentiles([wait for each in waits for wait in each.claim]),
        "complete_ms": percentiles(completed),
        "most_over_least": round(max(shares) / max(1, min(shares)), 2),
    }


def percentiles(values: list[float]) -> dict[str, float]:
    """p50 and p99."""
    p50, p99 = np.percentile(values, (50, 99))
    return {"p50": round(float(p50), 2), "p99": round(float(p99), 2)}


def report(seconds: float) -> dict[str, Any]:
    """Every cell, and what the goals say about them."""
    cells = [
        measure(opener, clients, items, seconds)
        for opener in (store, api)
        for clients in CLIENTS
        for items in ITEMS
    ]
    p99 = {(c["at"], c["clients"], c["items"]): c["claim_ms"]["p99"] for c in cells}
    growth = {
        f"{at}/{clients}": round(p99[at, clients, ITEMS[1]] / p99[at, clients, ITEMS[0]], 2)
        for at in ("store", "api")
        for clients in CLIENTS
    }
    worst = max(p99[at, CLIENTS[-1], ITEMS[-1]] for at in ("store", "api"))
    return {
        "bench": "queue",
        "seconds": seconds,
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "cells": cells,
        "claim_p99_growth": growth,
        "goal_p99_ms": GOAL_P99_MS,
        "reached": worst < GOAL_P99_MS,
    }


def main() -> None:
    """Measure, then print a table or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=float, default=60.0, help="at most for each of the 12 cells")
    arguments = parser.parse_args()
    measured = report(arguments.seconds)
    if arguments.json:
        print(json.dumps(measured))
        return
    for cell in measured["cells"]:
        claim, complete = cell["claim_ms"], cell["complete_ms"]
        print(
            f"{cell['at']:5} {cell['clients']:3} clients {cell['items']:6} items {cell['items_per_s']:8.1f}/s"
            f"  claim p50 {claim['p50']:6.2f} p99 {claim['p99']:6.2f} ms"
            f"  complete p50 {complete['p50']:6.2f} p99 {complete['p99']:6.2f} ms"
        )
    print("claim p99, 10,000 over 1,000 items:", measured["claim_p99_growth"])


if __name__ == "__main__":
    main()
