"""Observation to action over the local dialect, beside a bare loop of shared memory and socket.

Payload: two 256 x 256 x 3 uint8 images and 8 float32, written by the client for every call; the answer is one
checked chunk of 7 float32. The policy runs on its own thread in its own process and gets private copies. The
bare loop moves the same bytes the same way, without ids, checks, episodes or deadlines: it bounds what is
avoidable.

    python benches/roundtrip.py [--json] [--repeats 5] [--seconds 0.8]
"""

from __future__ import annotations

import argparse
import json
import mmap
import multiprocessing
import os
import platform
import resource
import select
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from proctor.wire.local import PolicyClient, PolicyServer
from proctor.wire.opening import open_session, prepare

CLIENTS = (1, 2, 4)
SHAPES: dict[str, tuple[tuple[int, ...], str]] = {
    "images.front": ((256, 256, 3), "uint8"),
    "images.wrist": ((256, 256, 3), "uint8"),
    "state.joints": ((8,), "float32"),
}
SPEC = BenchmarkSpec(
    name="roundtrip",
    suite="all",
    protocol_version="1",
    features=tuple(
        FeatureSpec(
            name,
            FeatureKind.IMAGE if name.startswith("images") else FeatureKind.STATE,
            dtype=dtype,
            shape=shape,
        )
        for name, (shape, dtype) in SHAPES.items()
    ),
    action=ActionSpec(name="joints", description="", dimension=7),
    supported_action_representations=("joints-v1",),
    default_action_representation="joints-v1",
)
Ask = Callable[[int], None]
"""Makes one round trip; gets the number of the call."""

_fork = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Measurement:
    """What the clients of one repetition saw, together."""

    rate_hz: float
    p50_ms: float
    p99_ms: float
    client_cpu_ms: float
    server_cpu_ms: float


class ConstantPolicy(Policy):
    """Costs nothing."""

    def load(self, context: SessionContext) -> PolicyCapabilities:
        """Make the chunk that every call is answered with."""
        self.chunk = ActionChunk(np.zeros((1, 7), np.float32))
        return PolicyCapabilities(supported_benchmarks=(SPEC.name,), required_features=tuple(SHAPES))

    def act(self, observation: Observation) -> ActionChunk:
        """The same as ever."""
        return self.chunk


def images() -> dict[str, NDArray[Any]]:
    """A client's arrays."""
    random = np.random.default_rng(0)
    return {name: random.integers(0, 255, shape).astype(dtype) for name, (shape, dtype) in SHAPES.items()}


# --- proctor ---------------------------------------------------------------------------------------


def serve_policy(path: Path) -> None:
    PolicyServer(ConstantPolicy(), path).serve()


@contextmanager
def ask_policy(path: Path, client: int) -> Iterator[Ask]:
    session = open_session(f"unix:{path}", SPEC, act_timeout_s=10)
    episode, arrays = f"episode-{client}", images()
    session.begin(EpisodeContext(episode, "task"))
    yield lambda step: assert_chunk(session.act(Observation(episode, step, dict(arrays))))
    session.end(episode, "success")
    session.close()


def assert_chunk(chunk: ActionChunk) -> None:
    assert chunk.actions.shape == (1, 7)


# --- the bare loop ---------------------------------------------------------------------------------


def views(memory: mmap.mmap) -> list[NDArray[Any]]:
    made, offset = [], 0
    for shape, dtype in SHAPES.values():
        made.append(np.ndarray(shape, dtype, memory, offset))
        offset += made[-1].nbytes
    return made


def serve_bare(path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    poll, clients = select.poll(), {}
    poll.register(listener, select.POLLIN)
    answer = np.zeros((1, 7), np.float32).tobytes()
    while True:
        for fd, _ in poll.poll():
            if fd == listener.fileno():
                sock = listener.accept()[0]
                _, fds, _, _ = socket.recv_fds(sock, 1, 1)
                clients[sock.fileno()] = sock, views(mmap.mmap(fds[0], 1 << 20))
                poll.register(sock, select.POLLIN)
                continue
            sock, arrays = clients[fd]
            if not sock.recv(256):
                poll.unregister(fd)
                del clients[fd]
                continue
            kept = [array.copy() for array in arrays]
            sock.send(answer)
            del kept


@contextmanager
def ask_bare(path: Path, client: int) -> Iterator[Ask]:
    fd = os.memfd_create("bare")
    os.ftruncate(fd, 1 << 20)
    targets, sources = views(mmap.mmap(fd, 1 << 20)), list(images().values())
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(path))
    socket.send_fds(sock, [b"m"], [fd])
    request = bytes(80)

    def ask(step: int) -> None:
        for target, source in zip(targets, sources, strict=True):
            target[...] = source
        sock.send(request)
        assert len(sock.recv(256)) == 28

    yield ask
    sock.close()


# --- measuring -------------------------------------------------------------------------------------

Serve = Callable[[Path], None]
Asker = Callable[[Path, int], Any]
SYSTEMS: dict[str, tuple[Serve, Asker]] = {
    "proctor": (serve_policy, ask_policy),
    "bare": (serve_bare, ask_bare),
}


def measure(system: str, clients: int, seconds: float) -> Measurement:
    """One repetition: a server process, `clients` client processes that start together."""
    serve, asker = SYSTEMS[system]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "socket")
        server = _fork.Process(target=serve, args=(path,), daemon=True)
        server.start()
        try:
            _wait_for(system, path)
            return _run_clients(asker, path, clients, seconds, server.pid or 0)
        finally:
            server.kill()
            server.join()


def _wait_for(system: str, path: Path) -> None:
    while not path.exists():
        time.sleep(0.005)
    if system == "proctor":
        with PolicyClient(path) as client:
            client.wait_until_ready(10)
        prepare(f"unix:{path}", SessionContext("bench", "", SPEC), timeout_s=10)


def _run_clients(asker: Asker, path: Path, clients: int, seconds: float, server: int) -> Measurement:
    barrier = _fork.Barrier(clients)
    pipes, processes = [], []
    for number in range(clients):
        here, there = _fork.Pipe(duplex=False)
        process = _fork.Process(target=_client, args=(asker, path, number, seconds, barrier, there))
        process.start()
        pipes.append(here)
        processes.append(process)
    before = _cpu_s(server)
    results = [pipe.recv() for pipe in pipes]
    server_cpu = _cpu_s(server) - before
    for process in processes:
        process.join()
    latencies = np.concatenate([latencies for latencies, _ in results])
    calls = len(latencies)
    return Measurement(
        rate_hz=calls / seconds,
        p50_ms=float(np.percentile(latencies, 50)) * 1e3,
        p99_ms=float(np.percentile(latencies, 99)) * 1e3,
        client_cpu_ms=sum(cpu for _, cpu in results) / calls * 1e3,
        server_cpu_ms=server_cpu / calls * 1e3,
    )


def _client(asker: Asker, path: Path, number: int, seconds: float, barrier: Any, result: Pipe) -> None:
    with asker(path, number) as ask:
        for step in range(200):
            ask(step)
        barrier.wait()
        cpu = time.process_time()
        latencies: list[float] = []
        now = time.perf_counter()
        until = now + seconds
        while now < until:
            ask(len(latencies))
            then, now = now, time.perf_counter()
            latencies.append(now - then)
        result.send((np.array(latencies), time.process_time() - cpu))


def _cpu_s(process: int) -> float:
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 4),
        "min": round(min(values), 4),
        "max": round(max(values), 4),
    }


def report(repeats: int, seconds: float) -> dict[str, Any]:
    """All systems and client numbers, taking turns so that a noisy moment hits all of them."""
    taken: dict[tuple[int, str], list[Measurement]] = {}
    for _ in range(repeats):
        for clients in CLIENTS:
            for system in SYSTEMS:
                taken.setdefault((clients, system), []).append(measure(system, clients, seconds))
    figures: dict[str, Any] = {}
    for (clients, system), measurements in taken.items():
        rows = [asdict(measurement) for measurement in measurements]
        figures.setdefault(str(clients), {})[system] = {
            name: spread([row[name] for row in rows]) for name in rows[0]
        }
    return {
        "bench": "roundtrip",
        "payload_bytes": sum(array.nbytes for array in images().values()),
        "repeats": repeats,
        "seconds": seconds,
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "clients": figures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.8)
    options = parser.parse_args()
    result = report(options.repeats, options.seconds)
    if options.json:
        print(json.dumps(result))
        return
    for clients, systems in result["clients"].items():
        for system, figures in systems.items():
            print(f"{clients} clients  {system:8} {_line(figures)}")


def _line(figures: dict[str, dict[str, float]]) -> str:
    rate, median = figures["rate_hz"], {name: values["median"] for name, values in figures.items()}
    return (
        f"{rate['median']:9,.0f}/s [{rate['min']:,.0f} to {rate['max']:,.0f}]"
        f"  p50 {median['p50_ms']:.3f} ms  p99 {median['p99_ms']:.3f} ms"
        f"  cpu {median['client_cpu_ms']:.3f} + {median['server_cpu_ms']:.3f} ms"
    )


if __name__ == "__main__":
    main()
