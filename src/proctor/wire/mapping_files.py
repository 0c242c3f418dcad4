"""Mappings by name, and from files that users write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from proctor.errors import UnknownNameError, UsageError
from proctor.limits import MAX_DEFINITION_BYTES
from proctor.parsing import parse
from proctor.wire.mapping import Mapping
from proctor.wire.presets import PRESETS


def find_mapping(name: str) -> Mapping:
    """The preset of that name, or the mapping in a file: `mine.toml` or `mine.json`.

    Raises `UnknownNameError` naming the nearest preset or, within a file, the nearest key; `UsageError` for a
    file that cannot be read or a value out of its domain. TOML needs Python 3.11.
    """
    if name in PRESETS:
        return PRESETS[name]
    path = Path(name)
    if path.suffix not in (".toml", ".json"):
        raise UnknownNameError("mapping", name, [*PRESETS, "FILE.toml"])
    raw = _read(path)
    if isinstance(raw, dict):
        raw.setdefault("name", path.stem)
    return parse(raw, Mapping, f"mapping {name}")


def _read(path: Path) -> Any:
    try:
        data = path.read_bytes()[: MAX_DEFINITION_BYTES + 1]
    except OSError as error:
        raise UsageError(f"mapping {path}: {error.strerror}") from None
    if len(data) > MAX_DEFINITION_BYTES:
        raise UsageError(f"mapping {path}: over {MAX_DEFINITION_BYTES} bytes")
    try:
        return json.loads(data) if path.suffix == ".json" else _toml(data.decode("utf-8"), path)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"mapping {path}: {error}") from None


def _toml(text: str, path: Path) -> Any:
    try:
        import tomllib
    except ImportError:
        raise UsageError(f"mapping {path}: TOML needs Python 3.11; write the same as JSON") from None
    return tomllib.loads(text)
