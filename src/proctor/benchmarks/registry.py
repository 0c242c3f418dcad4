"""Finds benchmark versions and simulator families by name.

Versions lie in `conf/benchmarks/` of the working directory, then in the one that comes with proctor. Families
are the built-in ones, then those of installed packages (entry point group `proctor.benchmarks`); none is
imported before it is asked for.
"""

from __future__ import annotations

import importlib
import logging
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, cast

from proctor.benchmarks.contract import Family
from proctor.benchmarks.version import DEFINITION_FILE, BenchmarkVersion, load_version
from proctor.errors import BenchmarkFault, UnknownNameError

ENTRY_POINT_GROUP: Final = "proctor.benchmarks"

_BUILT_IN: Final = {
    "aloha": "proctor.benchmarks.aloha",
    "metaworld": "proctor.benchmarks.metaworld",
    "toy": "proctor.testing.toy",
}

_log = logging.getLogger(__name__)


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


def family_names() -> list[str]:
    """Names of every family that can be found, sorted. Loads none."""
    return sorted({*_BUILT_IN, *_plugins()})


def find_family(name: str) -> Family:
    """Load the family with this name.

    Raises `UnknownNameError` naming the nearest one, and `BenchmarkFault` when its package cannot be loaded.
    """
    if name in _BUILT_IN:
        return cast(Family, importlib.import_module(_BUILT_IN[name]).FAMILY)
    plugins = _plugins()
    if name not in plugins:
        raise UnknownNameError("benchmark family", name, {*_BUILT_IN, *plugins})
    try:
        return cast(Family, plugins[name].load())
    except Exception as error:  # a plugin may fail in any way it likes
        raise BenchmarkFault(
            f"family {name!r} ({plugins[name].value}) cannot be loaded: {error!r}"
        ) from error


def _plugins() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if _BUILT_IN.get(point.name) == point.module:
            continue
        if point.name in found or point.name in _BUILT_IN:
            _log.warning("benchmark family %r of %s is ignored: the name is taken", point.name, point.value)
            continue
        found[point.name] = point
    return found
