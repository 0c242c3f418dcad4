"""Which files a policy's code is in, and their digests. Nothing of the policy is imported or run."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

_INTERPRETER = "python"


def digest_of(path: Path) -> str | None:
    """SHA-256 over a file, or over the names and contents of a folder's files; None if there is neither."""
    if path.is_file():
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    if not path.is_dir():
        return None
    whole = hashlib.sha256()
    for file in sorted(inner for inner in path.rglob("*") if inner.is_file()):
        whole.update(f"{file.relative_to(path).as_posix()}\0{digest_of(file)}\n".encode())
    return whole.hexdigest()


def file_of_class(cls: type) -> Path | None:
    """The file that defines a class; None where there is none, as in a notebook."""
    try:
        name = inspect.getsourcefile(cls)
    except (OSError, TypeError):
        return None
    return Path(name) if name else None


def file_of_source(source: str, python: str | None) -> Path | None:
    """The file that `source` of `source:Class` names, a `.py` file or a module; None if it is not found.

    A policy's own interpreter (`python`) sees other packages than this one: of its modules only those in the
    working directory can be found.
    """
    if source.endswith(".py"):
        return Path(source)
    return file_of_module(source, [str(Path.cwd()), *(sys.path if python is None else ())])


def file_of_module(name: str, path: Sequence[str]) -> Path | None:
    """The source file of a module that an interpreter with this import path would take."""
    places: Sequence[str] | None = path
    found: str | None = None
    parts = name.split(".")
    for count in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: count + 1]), places)
        if spec is None:
            return None
        found, places = spec.origin, spec.submodule_search_locations or []
    return Path(found) if found is not None and Path(found).is_file() else None


def files_of_command(command: Sequence[str], cwd: Path) -> dict[str, str]:
    """Word of a command to the digest of the file it names; the interpreter takes no part.

    Of `-m MODULE`, the module's file is looked for in the working directory.
    """
    files: dict[str, Path | None] = {
        word: cwd / word
        for position, word in enumerate(command)
        if position > 0 or not Path(word).name.startswith(_INTERPRETER)
    }
    if "-m" in command[:-1]:
        module = command[command.index("-m") + 1]
        files[module] = file_of_module(module, [str(cwd)])
    found = {word: file for word, file in files.items() if file is not None and file.is_file()}
    return {word: digest for word, file in found.items() if (digest := digest_of(file)) is not None}
