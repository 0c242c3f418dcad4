"""A real `proctor data get` that is killed in the middle of a file, and the next one."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from proctor.data.manifest import DataFile, Manifest, encode_manifest
from proctor.data.partial import partial_path
from proctor.data.places import data_home

from .server import Exchange, WebServer

pytestmark = pytest.mark.process

LARGE = os.urandom(1 << 20) * 8
HALF = len(LARGE) // 2
SMALL = b"small"


def entry(path: str, content: bytes) -> DataFile:
    return DataFile(path, len(content), hashlib.sha256(content).hexdigest())


MANIFEST = Manifest(1, "toys", "Toys", (entry("large.bin", LARGE), entry("small.bin", SMALL)))


HEARS_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""What a shell starts in the background is deaf to them, and so is what that starts."""


def start(location: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", f"{HEARS_INTERRUPTS}; from proctor.cli import main; main()"]
    return subprocess.Popen(
        [*command, "data", "get", "toys.jsonl", "--from", location],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output


def wait_until_half(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or path.stat().st_size < HALF:
        assert time.monotonic() < deadline, "half of the file never arrived"
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_only_the_rest_is_fetched(how: signal.Signals) -> None:
    Path("toys.jsonl").write_bytes(encode_manifest(MANIFEST))
    release = threading.Event()

    def stop_halfway(exchange: Exchange) -> bool:
        if exchange.asked.path != "/large.bin" or exchange.asked.first_byte:
            return False
        exchange.head(200, {"Content-Length": str(len(LARGE))})
        exchange.body(LARGE[:HALF])
        release.wait(60)
        return exchange.hang_up()

    with WebServer({"/large.bin": LARGE, "/small.bin": SMALL}, stop_halfway) as server:
        process = start(server.url)
        try:
            wait_until_half(partial_path(data_home() / "toys", MANIFEST.files[0]))
            process.send_signal(how)
            process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
            release.set()
        assert process.returncode == (7 if how is signal.SIGINT else -signal.SIGKILL)
        assert not (data_home() / "toys" / "large.bin").exists()

        sent = server.sent
        output = finish(start(server.url))
        assert [asked.first_byte for asked in server.asked_for("/large.bin")] == [0, HALF]
        assert server.sent - sent <= len(LARGE) - HALF + len(SMALL)
    assert "toys: 2 files" in output
    assert (data_home() / "toys" / "large.bin").read_bytes() == LARGE
    assert sorted(path.name for path in (data_home() / "toys").iterdir()) == ["large.bin", "small.bin"]
