"""Finds benchmark versions and simulator families by name.

Versions lie in `conf/benchmarks/` of the working directory, then in the one that comes with proctor. Families
are the built-in ones, then those of installed packages (entry point group `proctor.benchmarks`); none is
imported before it is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

from proctor.benchmarks.contract import Family
from proctor.benchmarks.version import DEFINITION_FILE, BenchmarkVersion, load_version
from proctor.errors import UnknownNameError
from proctor.plugins import Plugins

FAMILIES: Final = Plugins(
    what="benchmark family",
    group="proctor.benchmarks",
    built_in={
        "aloha": "proctor.benchmarks.aloha:FAMILY",
        "metaworld": "proctor.benchmarks.metaworld:FAMILY",
        "toy": "proctor.testing.toy:FAMILY",
    },
)


def search_path() -> tuple[Path, ...]:
    """Directories that hold versions; the first that has an id wins."""
    package = Path(__file__).resolve().parent.parent
    return Path.cwd() / "conf" / "benchmarks", package / "conf" / "benchmarks"


def version_ids() -> list[str]:
    """Ids of every version that can be found, sorted."""
    found = {path.parent.name for root in search_path() for path in root.glob(f"*/{DEFINITION_FILE}")}
    return sorted(found)


def find_version(version_id: str) -> BenchmarkVersion:
    """Load the version with this id. Raises `UnknownNameError` naming the nearest one."""
    known = version_ids()
    if version_id not in known:
        raise UnknownNameError("benchmark", version_id, known)
    directory = next(
        root / version_id for root in search_path() if (root / version_id / DEFINITION_FILE).is_file()
    )
    return load_version(directory)


def find_family(name: str) -> Family:
    """Load the family with this name.

    Raises `UnknownNameError` naming the nearest one, and `BenchmarkFault` when its package cannot be loaded.
    """
    return cast(Family, FAMILIES.load(name))
