"""A draft that starts as a copy of another version: for other cameras, tasks or limits of the same family."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Final, get_args

from proctor.benchmarks.definition import Name
from proctor.benchmarks.listing import list_files
from proctor.benchmarks.registry import directories
from proctor.benchmarks.version import DEFINITION_FILE, BenchmarkVersion, load_version
from proctor.errors import UsageError

_ID: Final = re.compile(str(get_args(Name)[1].pattern))


def copy_version(version: BenchmarkVersion, new_id: str, root: Path) -> BenchmarkVersion:
    """Copy every file but the seal to `root`/`new_id`, with the new id. The episodes stay what they are.

    Raises `UsageError` for a version that no directory holds, and for an id that is none, that lies there
    already, or that another version has.
    """
    if not _ID.fullmatch(new_id):
        raise UsageError(
            f"id {new_id!r}; valid: lower-case letters and digits, then also _ . + -, at most 100"
        )
    source = _directory_of(version)
    final = root / new_id
    for taken in (final, *directories(new_id)):
        if taken.exists():
            raise UsageError(f"{taken} exists; a changed benchmark is a new version: give another id")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=root) as unfinished:
        made = Path(unfinished) / new_id
        for entry in list_files(source):
            (made / entry.path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / entry.path, made / entry.path)
        _rename(made / DEFINITION_FILE, version.definition.id, new_id)
        load_version(made)
        made.rename(final)
    return load_version(final)


def _directory_of(version: BenchmarkVersion) -> Path:
    """Where the files of a version are; a short file of one's own has none of a version's beside it."""
    directory = version.directory
    if directory is None or not (directory / DEFINITION_FILE).is_file():
        raise UsageError(
            f"{version.definition.id} is declared by a short file; valid: an id or a version's directory. "
            "Copy the file, and give it another id"
        )
    return directory


def _rename(file: Path, old: str, new: str) -> None:
    text, count = re.subn(rf'(?m)^id = (["\']){re.escape(old)}\1', f'id = "{new}"', file.read_text(), count=1)
    if count != 1:
        raise UsageError(f"{file.name} of {old} has no line with its id; copy the directory, and change it")
    file.write_text(text)
