"""Finds benchmark versions and simulator families by name.

Versions lie in `conf/benchmarks/` of the working directory, then in the one that comes with proctor, then in
the data home, where `proctor data get` puts them; of two with one id the first is used, with a warning where
they differ. Families are the built-in ones, then those of installed packages (entry point group
`proctor.benchmarks`); none is imported before it is asked for.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Final, cast

from proctor.benchmarks.contract import Family
from proctor.benchmarks.version import DEFINITION_FILE, BenchmarkVersion, load_version
from proctor.data.places import data_home, is_unfinished
from proctor.errors import BenchmarkFault, UnknownNameError, UsageError
from proctor.plugins import Plugins

_log = logging.getLogger(__name__)

FAMILIES: Final = Plugins(
    what="benchmark family",
    group="proctor.benchmarks",
    built_in={
        "aloha": "proctor.benchmarks.aloha:FAMILY",
        "calvin": "proctor.benchmarks.calvin:FAMILY",
        "gymnasium": "proctor.benchmarks.gymnasium:FAMILY",
        "libero": "proctor.benchmarks.libero:FAMILY",
        "libero_plus": "proctor.benchmarks.libero_plus:FAMILY",
        "maniskill": "proctor.benchmarks.maniskill:FAMILY",
        "metaworld": "proctor.benchmarks.metaworld:FAMILY",
        "robocasa": "proctor.benchmarks.robocasa:FAMILY",
        "robopro": "proctor.benchmarks.robopro:FAMILY",
        "robosuite": "proctor.benchmarks.robosuite:FAMILY",
        "robotwin": "proctor.benchmarks.robotwin:FAMILY",
        "tabletop": "proctor.benchmarks.tabletop:FAMILY",
        "toy": "proctor.testing.toy:FAMILY",
    },
)


def search_path() -> tuple[Path, ...]:
    """Directories that hold versions; the first that has an id wins."""
    package = Path(__file__).resolve().parent.parent
    return Path.cwd() / "conf" / "benchmarks", package / "conf" / "benchmarks", data_home()


def version_ids() -> list[str]:
    """Ids of every version that can be found, sorted."""
    found = {path.parent.name for root in search_path() for path in root.glob(f"*/{DEFINITION_FILE}")}
    return sorted(found)


def find_version(version_id: str) -> BenchmarkVersion:
    """Load the version with this id; warns, once, of another that it hides.

    Raises `UnknownNameError` naming the nearest one, and `UsageError` for one that is not fetched to its end.
    """
    known = version_ids()
    if version_id not in known:
        raise UnknownNameError("benchmark", version_id, known)
    first, *_ = directories(version_id)
    if is_unfinished(first):
        raise UsageError(f"{first} is not fetched to its end; go on with: proctor data get {version_id}")
    version = load_version(first)
    if hidden := hidden_by(version):
        _warn(f"benchmark {version_id} is the one in {first}; it differs from the one it hides, in {hidden}")
    return version


def hidden_by(version: BenchmarkVersion) -> Path | None:
    """Directory of a version with the same id and other content that this one, where it is found, hides."""
    for directory in directories(version.definition.id):
        if directory != version.directory and _hash(directory) != version.hash:
            return directory
    return None


def directories(version_id: str) -> list[Path]:
    """Where versions with this id lie, the one that wins first."""
    places = (root / version_id for root in search_path())
    return [place for place in places if (place / DEFINITION_FILE).is_file()]


def _hash(directory: Path) -> str | None:
    """None for files that are no version."""
    try:
        return load_version(directory).hash
    except (UsageError, BenchmarkFault):
        return None


@functools.cache
def _warn(text: str) -> None:
    _log.warning("%s", text)


def find_family(name: str) -> Family:
    """Load the family with this name.

    Raises `UnknownNameError` naming the nearest one, and `BenchmarkFault` when its package cannot be loaded.
    """
    return cast(Family, FAMILIES.load(name))
