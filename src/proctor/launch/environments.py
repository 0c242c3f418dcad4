"""Simulator environments: one locked virtual environment per simulator, built once, never changed.

A definition is a directory `conf/environments/<name>/` (of the working directory, then of the package):

    environment.toml     schema = 1, title, graphics; `source` where no package holds the simulator
    requirements.in      what is wanted, with the reasons
    requirements.lock    every package with its hashes; names no index

It is built into `$PROCTOR_HOME/environments/<name>-<address>/`, where the address is a hash of the lock, the
Python version and the platform: a changed lock is another directory, and a finished one is never written to.
Building happens beside it and ends with a rename, so a directory under its final name is complete. `host` is
the environment of the running interpreter, for benchmarks that need no simulator of their own.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

from proctor.benchmarks.checkouts import Source
from proctor.errors import EnvironmentMissing, UnknownNameError, UsageError
from proctor.home import home
from proctor.launch.uv import run_uv
from proctor.parsing import parse

HOST = "host"
GRAPHICS = ("mujoco", "vulkan", "sapien", "pybullet", "none")
MANIFEST = "proctor-environment.json"
_FIELDS = {"schema", "title", "graphics", "source"}

Progress = Callable[[str], None]


def _silent(message: str) -> None:
    pass


@dataclass(frozen=True)
class EnvironmentDefinition:
    """One simulator environment, as locked."""

    name: str
    directory: Path
    title: str
    graphics: str
    """`mujoco`: renders through MUJOCO_GL. `vulkan`: SAPIEN on any Vulkan device. `sapien`: SAPIEN by ray
    tracing. `pybullet`: through its EGL plugin. `none`: renders nothing that needs a backend."""
    source: Source | None = None
    """The checkout that holds the simulator; None where packages do."""

    @property
    def wanted(self) -> Path:
        """The requirements that a person wrote."""
        return self.directory / "requirements.in"

    @property
    def lock(self) -> Path:
        """The hashed requirements that are installed."""
        return self.directory / "requirements.lock"


def search_path() -> tuple[Path, ...]:
    """Directories that hold definitions; the first that has a name wins."""
    package = Path(__file__).resolve().parent.parent
    return Path.cwd() / "conf" / "environments", package / "conf" / "environments"


def names() -> list[str]:
    """Names of every environment that can be built, sorted."""
    return sorted({path.parent.name for root in search_path() for path in root.glob("*/environment.toml")})


def complete_names() -> list[str]:
    """Names of every environment that its lock makes whole and any machine renders; the others are opt-in."""
    return [name for name in names() if find(name).source is None and find(name).graphics != "vulkan"]


def find(name: str) -> EnvironmentDefinition:
    """Load the definition with this name. Raises UnknownNameError, or UsageError for a wrong field."""
    for root in search_path():
        path = root / name / "environment.toml"
        if path.is_file():
            return _parse(name, path)
    raise UnknownNameError("environment", name, names())


def _parse(name: str, path: Path) -> EnvironmentDefinition:
    try:
        fields = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    for field in fields:
        if field not in _FIELDS:
            raise UnknownNameError(f"field in {path}:", field, _FIELDS)
    if fields.get("schema") != 1:
        raise UsageError(f"{path}: schema is {fields.get('schema')!r}; this proctor reads schema 1")
    graphics = fields.get("graphics")
    if graphics not in GRAPHICS:
        raise UnknownNameError(f"graphics in {path}:", str(graphics), GRAPHICS)
    source = parse(fields["source"], Source, f"{path}, source") if "source" in fields else None
    return EnvironmentDefinition(name, path.parent, str(fields.get("title", name)), graphics, source)


def address(lock: bytes) -> str:
    """Twelve hex digits that name the lock, this Python and this platform."""
    here = f"{platform.python_implementation()} {platform.python_version()} {sysconfig.get_platform()}"
    return hashlib.sha256(lock + b"\0" + here.encode()).hexdigest()[:12]


def location(definition: EnvironmentDefinition) -> Path:
    """Where this definition is built, whether or not it is."""
    try:
        lock = definition.lock.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"environment {definition.name!r} has no {definition.lock}") from None
    return home() / "environments" / f"{definition.name}-{address(lock)}"


def is_built(definition: EnvironmentDefinition) -> bool:
    """Whether it is complete and its interpreter still exists (its base Python may have been removed)."""
    place = location(definition)
    return (place / MANIFEST).is_file() and os.access(place / "bin" / "python", os.X_OK)


def interpreter(name: str) -> Path:
    """Return the interpreter to run this environment's workers with.

    Raises EnvironmentMissing with the command that builds it, UnknownNameError for another name.
    """
    if name == HOST:
        return Path(sys.executable)
    definition = find(name)
    if not is_built(definition):
        raise EnvironmentMissing(f"environment {name!r} is not built; run: proctor env build {name}")
    return location(definition) / "bin" / "python"


def build(name: str, progress: Progress = _silent) -> Path:
    """Build an environment unless it is there already; returns its directory.

    Safe to call from several processes at once. Raises InfrastructureFault with what uv said.
    """
    definition = find(name)
    place = location(definition)
    if is_built(definition):
        progress(f"{name}: already built")
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with _only_builder(place, lambda: progress(f"{name}: another process is building it, waiting")):
        if not is_built(definition):
            progress(f"{name}: building {place}")
            _build_at(definition, place)
            progress(f"{name}: built")
    return place


def build_all(wanted: list[str], progress: Progress = _silent) -> list[Path]:
    """Build several environments at the same time; their downloads overlap."""
    with ThreadPoolExecutor(max_workers=max(1, len(wanted))) as pool:
        return list(pool.map(lambda name: build(name, progress), wanted))


@contextmanager
def _only_builder(place: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file of one address. It is never deleted: another process may be waiting on it."""
    with place.with_name(f".{place.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_at(definition: EnvironmentDefinition, place: Path) -> None:
    _remove_abandoned(place)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        python = unfinished / "bin" / "python"
        run_uv("venv", "--relocatable", "--allow-existing", "--python", sys.executable, unfinished)
        run_uv("pip", "sync", "--require-hashes", "--python", python, definition.lock)
        manifest = {
            "environment": definition.name,
            "python": platform.python_version(),
            "packages": packages(python),
        }
        (unfinished / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        unfinished.chmod(0o755)
        if place.exists():
            shutil.rmtree(place)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _remove_abandoned(place: Path) -> None:
    """Delete what a killed build left. Only the holder of the lock gets here."""
    for left in place.parent.glob(f".{place.name}.*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)


def packages(python: Path) -> dict[str, str]:
    """Versions installed for an interpreter, by normalised name. Empty if it does not run."""
    script = (
        "import json, importlib.metadata as m; "
        "print(json.dumps([(d.metadata['Name'], d.version) for d in m.distributions()]))"
    )
    done = subprocess.run([python, "-I", "-c", script], capture_output=True, text=True, check=False)
    found: list[tuple[str, str]] = json.loads(done.stdout) if done.returncode == 0 else []
    return {name.lower().replace("_", "-"): version for name, version in found}


def manifest(definition: EnvironmentDefinition) -> dict[str, Any]:
    """Return what was recorded when the environment was built."""
    recorded: dict[str, Any] = json.loads((location(definition) / MANIFEST).read_text())
    return recorded


def lock(name: str, *, upgrade: bool = False) -> Path:
    """Compile requirements.in to requirements.lock, keeping versions unless `upgrade`; returns the lock."""
    definition = find(name)
    # With relative names, the lock does not depend on where the checkout lies.
    options = ["--universal", "--generate-hashes", "--no-header", "--no-annotate", "--python-version", "3.11"]
    options += ["--upgrade"] if upgrade else []
    run_uv(
        "pip",
        "compile",
        *options,
        definition.wanted.name,
        "-o",
        definition.lock.name,
        cwd=definition.directory,
    )
    return definition.lock
