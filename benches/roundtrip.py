"""Observation to action over every dialect, beside bare loops that move the same bytes.

Payload: two 256 x 256 x 3 uint8 images and 8 float32, written by the client for every call; the answer is
one checked chunk of 8 float32. The episode protocol sends three 320 x 240 JPEG instead. The policy runs on
its own thread in its own process and gets private copies. The bare loops, one of shared memory and a socket,
one of websockets and msgpack, have no ids, checks, episodes or deadlines: they bound what is avoidable.

    python benches/roundtrip.py [--dialect NAME|all] [--json] [--repeats 3] [--seconds 0.5]
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
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benches.scene import CAMERAS, DIMENSION, JPEG, RAW, Ask, ConstantPolicy, arrays, asking
from benches.wires import ECHO, MAPPINGS, WIRES, Asker, Serve
from proctor.policy import SessionContext
from proctor.wire.images import decode_image, encode_image
from proctor.wire.local import PolicyClient, PolicyServer
from proctor.wire.opening import open_session, prepare

WARM_UP = 100
CLIENTS = (1, 2, 4)
"""For the local dialect; the others are asked by one."""

_fork = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Measurement:
    """What the clients of one repetition saw, together."""

    rate_hz: float
    p50_ms: float
    p99_ms: float
    client_cpu_ms: float
    server_cpu_ms: float


# --- proctor ---------------------------------------------------------------------------------------


def serve_policy(path: Path) -> None:
    PolicyServer(ConstantPolicy(), path).serve()


@contextmanager
def ask_policy(path: Path, client: int) -> Iterator[Ask]:
    with asking(open_session(f"unix:{path}", RAW, act_timeout_s=10), RAW, client) as ask:
        yield ask


# --- the bare loop ---------------------------------------------------------------------------------


def views(memory: mmap.mmap) -> list[NDArray[Any]]:
    made: list[NDArray[Any]] = []
    for array in arrays(RAW).values():
        made.append(np.ndarray(array.shape, array.dtype, memory, sum(view.nbytes for view in made)))
    return made


def serve_bare(path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    poll, clients = select.poll(), {}
    poll.register(listener, select.POLLIN)
    answer = np.zeros((1, DIMENSION), np.float32).tobytes()
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
    targets, sources = views(mmap.mmap(fd, 1 << 20)), list(arrays(RAW).values())
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(path))
    socket.send_fds(sock, [b"m"], [fd])
    request = bytes(80)

    def ask(step: int) -> None:
        for target, source in zip(targets, sources, strict=True):
            target[...] = source
        sock.send(request)
        assert len(sock.recv(256)) == 4 * DIMENSION

    yield ask
    sock.close()


# --- measuring -------------------------------------------------------------------------------------

SYSTEMS: dict[str, tuple[Serve, Asker]] = {
    "local": (serve_policy, ask_policy),
    "bare memory": (serve_bare, ask_bare),
    "bare websocket": ECHO,
    **WIRES,
}
BESIDE = {"local": "bare memory", **dict.fromkeys(("openpi", "chunk-ws", "roboarena"), "bare websocket")}
"""What a dialect is measured beside."""


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
    if system == "local":
        with PolicyClient(path) as client:
            client.wait_until_ready(10)
        prepare(f"unix:{path}", SessionContext("bench", "", RAW), timeout_s=10)


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
        for step in range(WARM_UP):
            ask(step)
        barrier.wait()
        cpu = time.process_time()
        latencies: list[float] = []
        now = time.perf_counter()
        until = now + seconds
        while now < until:
            ask(WARM_UP + len(latencies))
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


def report(dialects: list[str], repeats: int, seconds: float) -> dict[str, Any]:
    """All systems and client numbers, taking turns so that a noisy moment hits all of them."""
    systems = dict.fromkeys([*dialects, *(BESIDE[name] for name in dialects if name in BESIDE)])
    taken: dict[tuple[str, int], list[Measurement]] = {}
    for _ in range(repeats):
        for system in systems:
            for clients in CLIENTS if system in ("local", "bare memory") else (1,):
                taken.setdefault((system, clients), []).append(measure(system, clients, seconds))
    figures: dict[str, Any] = {}
    for (system, clients), measurements in taken.items():
        rows = [asdict(measurement) for measurement in measurements]
        figures.setdefault(system, {})[str(clients)] = {
            name: spread([row[name] for row in rows]) for name in rows[0]
        }
    return {
        "bench": "roundtrip",
        "payload_bytes": sum(array.nbytes for array in arrays(RAW).values()),
        "repeats": repeats,
        "seconds": seconds,
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "systems": figures,
        "beside": {name: _times(figures, name, BESIDE[name]) for name in dialects if name in BESIDE},
        "codec_cpu_ms": codec_cpu_ms() if "episode-http" in dialects else None,
    }


def _times(figures: dict[str, Any], system: str, bare: str) -> float:
    """How many times as long a call takes as beside it."""
    long, short = (figures[name]["1"]["p50_ms"]["median"] for name in (system, bare))
    return round(float(long / short), 2)


def codec_cpu_ms() -> float:
    """Processor time of making the episode protocol's frames and of reading them, per step."""
    mapping = MAPPINGS["episode-http"]
    assert mapping is not None
    frames = [array for name, array in arrays(JPEG).items() if name in CAMERAS]
    began = time.process_time()
    for _ in range(100):
        for frame in frames:
            decode_image(encode_image(frame, mapping.images[0].codec))
    return round((time.process_time() - began) * 10, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--dialect", choices=["all", "local", *WIRES], default="all")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    dialects = ["local", *WIRES] if options.dialect == "all" else [options.dialect]
    result = report(dialects, options.repeats, options.seconds)
    if options.json:
        print(json.dumps(result))
        return
    for system, by_clients in result["systems"].items():
        for clients, figures in by_clients.items():
            print(f"{system:15}{clients} client(s) {_line(figures)}")
    for system, times in result["beside"].items():
        print(f"{system}: {times} times as long as {BESIDE[system]}")
    if result["codec_cpu_ms"] is not None:
        print(f"episode-http: of its cpu, {result['codec_cpu_ms']} ms make and read JPEG")


def _line(figures: dict[str, dict[str, float]]) -> str:
    rate, median = figures["rate_hz"], {name: values["median"] for name, values in figures.items()}
    return (
        f"{rate['median']:9,.0f}/s [{rate['min']:,.0f} to {rate['max']:,.0f}]"
        f"  p50 {median['p50_ms']:.3f} ms  p99 {median['p99_ms']:.3f} ms"
        f"  cpu {median['client_cpu_ms']:.3f} + {median['server_cpu_ms']:.3f} ms"
    )


if __name__ == "__main__":
    main()
