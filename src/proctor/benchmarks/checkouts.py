"""Simulators that no package index carries: a source checkout at one commit, and the assets it needs.

An environment's `environment.toml` says which in its table `source`. The checkout lies where the named
environment variable points, else in `$PROCTOR_HOME/sources/<environment>`. Nothing here fetches anything:
assets of many gigabytes and their licences are a person's decision. What is missing is said with how to get
it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import EnvironmentMissing
from proctor.home import home

GIT_TIMEOUT_S: Final = 20.0


class Need(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that must lie in the checkout beside what its repository holds."""

    what: str
    path: str
    """A file or directory relative to the checkout; a directory must not be empty."""
    remedy: str
    """How to get it, to be run in the checkout."""
    commit: str = ""
    """The commit that it must be at, where `path` is a checkout of its own; checked out after `remedy`."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which checkout an environment's simulator is."""

    repository: str
    commit: str
    variable: str
    """Environment variable that names the checkout's directory."""
    needs: tuple[Need, ...] = ()
    python_path: tuple[str, ...] = ()
    """Directories of the checkout that its modules are imported from."""
    without: str = ""
    """What runs where there is no checkout; nothing by default."""
    imports: tuple[str, ...] = ()
    """Modules that must be importable from there, in the environment's interpreter."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    detail: str
    remedy: str = ""
    """The command that mends it; empty when there is nothing to mend."""


def location(name: str, variable: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the checkout of environment `name` is to lie."""
    named = environ.get(variable)
    return Path(named).expanduser() if named else home(environ) / "sources" / name


def examine(name: str, source: Source, place: Path) -> list[Finding]:
    """What is there and what is missing, each with how to get it."""
    if not place.is_dir():
        getting = f"git clone {source.repository} {place} && git -C {place} checkout {source.commit}"
        detail = f"{place} is missing ({source.variable} names another place)"
        if source.without:
            detail += f"; without it run: {source.without}"
        return [Finding("source", False, detail, getting), *_examine_needs(source, place)]
    return [
        Finding("source", True, str(place)),
        _examine_commit(source, place),
        *_examine_needs(source, place),
    ]


def commit_of(place: Path) -> str | None:
    """The commit that is checked out, 40 hexadecimal digits; None where git knows none."""
    command = ["git", "-C", str(place), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=GIT_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def require(name: str, variable: str, commit: str) -> Path:
    """The checkout of environment `name`, which must be at `commit`.

    Raises `EnvironmentMissing` naming what is there, what is wanted, and the command that tells more.
    """
    place = location(name, variable)
    if not place.is_dir():
        raise EnvironmentMissing(
            f"{place} is missing: the simulator of {name} is a source checkout; run: proctor env check {name}"
        )
    found = commit_of(place)
    if found != commit:
        raise EnvironmentMissing(
            f"{place} is at commit {found or '(unknown)'}, this benchmark is defined on {commit}; "
            f"run: proctor env check {name}"
        )
    return place


def _examine_commit(source: Source, place: Path) -> Finding:
    found = commit_of(place)
    if found == source.commit:
        return Finding("commit", True, found)
    return Finding("commit", False, _other_commit(found, source.commit), _checking_out(place, source.commit))


def _examine_needs(source: Source, place: Path) -> Iterator[Finding]:
    for need in source.needs:
        yield _examine_need(need, place)


def _examine_need(need: Need, place: Path) -> Finding:
    path = place / need.path
    if not (path.is_file() or (path.is_dir() and any(path.iterdir()))):
        remedy = f"(in {place}) {need.remedy}"
        if need.commit:
            remedy += f" && git -C {need.path} checkout {need.commit}"
        return Finding(need.what, False, f"{path} is missing or empty", remedy)
    found = commit_of(path) if need.commit else ""
    if found != need.commit:
        return Finding(need.what, False, _other_commit(found, need.commit), _checking_out(path, need.commit))
    return Finding(need.what, True, need.path)


def _other_commit(found: str | None, wanted: str) -> str:
    return f"{found or 'no commit that git knows'}, wanted {wanted}"


def _checking_out(place: Path, commit: str) -> str:
    return f"git -C {place} fetch origin && git -C {place} checkout {commit}"
