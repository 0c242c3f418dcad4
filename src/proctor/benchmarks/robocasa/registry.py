"""RoboCasa365's own registry of tasks: which there are, in which sets, and how many steps each may take.

It is read from the checkout's source, without importing it: horizons differ between releases (1.0.1 made all
of them half as long again), and none is known otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from proctor.errors import BenchmarkFault, UnknownNameError

FILE: Final = Path("robocasa/utils/dataset_registry.py")
TASK_TABLES: Final = ("ATOMIC_TASK_DATASETS", "COMPOSITE_TASK_DATASETS")
TARGETS: Final = "TARGET_TASKS"


class Registry(NamedTuple):
    """What a checkout says."""

    horizons: Mapping[str, int]
    """Control steps by task."""
    targets: Mapping[str, tuple[str, ...]]
    """Tasks of the benchmark by set, such as `atomic_seen`."""


def read_registry(checkout: Path) -> Registry:
    """Raises `BenchmarkFault` for a checkout without a registry, and for one that says something else."""
    path = checkout / FILE
    try:
        tree = ast.parse(path.read_text())
    except (OSError, SyntaxError) as error:
        raise BenchmarkFault(f"{path}: RoboCasa365's registry of tasks cannot be read: {error}") from None
    tables = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    missing = [name for name in (*TASK_TABLES, TARGETS) if name not in tables]
    if missing:
        raise BenchmarkFault(f"{path}: no {', '.join(missing)}; is it RoboCasa365's registry?")
    horizons = {
        task: _horizon(entry, f"{path}, {task}")
        for name in TASK_TABLES
        for task, entry in _entries(tables[name], f"{path}, {name}").items()
    }
    sets = _entries(tables[TARGETS], f"{path}, {TARGETS}")
    return Registry(horizons, {name: tuple(_literal(value, str(path))) for name, value in sets.items()})


def require_registered(registry: Registry, environment: str, horizon: int) -> None:
    """Raise for a task that the checkout does not know, and for another horizon than the checkout's."""
    name = environment.rpartition("/")[2]
    if name not in registry.horizons:
        raise BenchmarkFault(str(UnknownNameError("RoboCasa365 task", name, registry.horizons)))
    if registry.horizons[name] != horizon:
        raise BenchmarkFault(
            f"task {name}: the version allows {horizon} steps, the checkout {registry.horizons[name]}"
        )


def _entries(node: ast.expr, where: str) -> dict[str, ast.expr]:
    """The keywords of `dict(...)` or `OrderedDict(...)`."""
    if not isinstance(node, ast.Call) or any(keyword.arg is None for keyword in node.keywords):
        raise BenchmarkFault(f"{where}: not a table of names")
    return {str(keyword.arg): keyword.value for keyword in node.keywords}


def _horizon(node: ast.expr, where: str) -> int:
    entry = _entries(node, where)
    if "horizon" not in entry:
        raise BenchmarkFault(f"{where}: no horizon")
    value = _literal(entry["horizon"], where)
    if not isinstance(value, int) or value < 1:
        raise BenchmarkFault(f"{where}: horizon {value!r} is no count of steps")
    return value


def _literal(node: ast.expr, where: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise BenchmarkFault(f"{where}: line {node.lineno} is no plain value") from None
