"""What can be found out about a run without starting or importing anything, so that it fails at once."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from proctor.errors import PolicyLoadError, UnknownNameError, UsageError
from proctor.launch.digests import file_of_source
from proctor.launch.policies import ClassPolicy, CommandPolicy, PolicySource, RunningPolicy
from proctor.launch.servers import policy_interpreter
from proctor.policy.loading import require_policy_file


def check_policy_source(source: PolicySource) -> None:
    """Raise UsageError for an interpreter, file or class that is not there.

    A class is looked for in the text of its file. Where a name may come from elsewhere (a star import, a
    module's `__getattr__`), or the file is not found, whoever imports it has to tell.
    """
    if not isinstance(source, ClassPolicy):
        return
    policy_interpreter(source.python)
    name, _, class_name = source.spec.rpartition(":")
    if name.endswith(".py"):
        require_policy_file(Path(name))
    file = file_of_source(name, source.python)
    if file is not None and file.suffix == ".py":
        _check_class(file, name, class_name, other_interpreter=source.python is not None)


def _check_class(file: Path, name: str, class_name: str, *, other_interpreter: bool) -> None:
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        if other_interpreter:
            return  # which may know a newer syntax
        raise PolicyLoadError(f"{file}:{error.lineno}: SyntaxError: {error.msg}") from None
    except (OSError, ValueError):
        return
    bound = set(_bound_names(tree.body))
    if class_name not in bound and not bound & {"*", "__getattr__"}:
        classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.bases]
        raise UnknownNameError(f"class in {name}", class_name, classes)


def _bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """Names that these statements bind at their own level, whatever branch is taken."""
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]
            elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name


def check_checkpoint(checkpoint: str | None, source: PolicySource) -> None:
    """Raise UsageError for a checkpoint that looks like a path and leads nowhere.

    Absolute, or beginning with `.` or `~`, or in a folder that exists: a path. `org/model` and anything with
    `://` are left to the policy, and so is what a server elsewhere is told.
    """
    if not checkpoint or "://" in checkpoint or isinstance(source, RunningPolicy):
        return
    path = Path(checkpoint).expanduser()
    if isinstance(source, CommandPolicy):
        path = source.config.cwd / path
    in_a_folder = len(Path(checkpoint).parts) > 1 and path.parent.is_dir()
    if (checkpoint[0] in "/.~" or in_a_folder) and not path.exists():
        raise UsageError(
            f"checkpoint {checkpoint!r}: there is no such file or folder. A name that the policy itself looks"
            " up begins with neither '/', '.' nor '~', nor with a folder that exists"
        )


def check_writable(directory: Path) -> None:
    """Raise UsageError where a run's directory could not be made; writes nothing."""
    place = directory
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise UsageError(f"run directory {directory} cannot be written: {place} is no folder to write in")
