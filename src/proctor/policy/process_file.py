"""The policy process file: how to start a policy server that brings its own interpreter."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from proctor import limits
from proctor.errors import PolicyConfigError
from proctor.policy import _fields

POLICY_CONFIG_PATH: Final = Path("/workspace/evostudio-policy.json")
"""Where images of the platform keep the file."""

POLICY_CONFIG_SCHEMA_VERSION: Final = 2
"""The newest schema; 1 is read too."""

_FIELDS: Final = {
    1: ("schema_version", "command", "cwd"),
    2: ("schema_version", "command", "cwd", "benchmark_config"),
}
_OPTIONAL: Final = ("benchmark_config",)


@dataclass(frozen=True)
class PolicyRuntimeConfig:
    """A checked policy process file.

    `command` is an argument vector whose first item is an absolute path of an executable file, `cwd` an
    existing absolute directory, `benchmark_config` maps a benchmark's name to JSON settings for it.
    """

    path: Path
    command: tuple[str, ...]
    cwd: Path
    benchmark_config: dict[str, dict[str, Any]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "path": str(self.path),
            "command": list(self.command),
            "cwd": str(self.cwd),
            "benchmark_config": _fields.json_object("benchmark_config", self.benchmark_config),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PolicyRuntimeConfig:
        """Inverse of `to_dict`. Raises `PolicyConfigError` for what the file itself could not say either."""
        try:
            values = _fields.arguments(cls, data)
            path = Path(_fields.text("path", values["path"]))
        except (TypeError, ValueError) as error:
            raise PolicyConfigError("invalid_policy_config", str(error)) from None
        return cls(
            path=path,
            command=_command(values["command"]),
            cwd=_cwd(values["cwd"]),
            benchmark_config=_benchmark_config(values.get("benchmark_config", {})),
        )


def load_policy_runtime_config(path: str | os.PathLike[str] = POLICY_CONFIG_PATH) -> PolicyRuntimeConfig:
    """Read and check a policy process file of schema 1 or 2.

    Raises `PolicyConfigError` with one of the codes `missing_policy_config`, `invalid_policy_config`,
    `unsupported_policy_config_version`, `invalid_policy_command`, `invalid_policy_executable`,
    `invalid_policy_cwd`.
    """
    file = Path(path)
    try:
        data = _decode(_read(file))
        _check_fields(data)
        return PolicyRuntimeConfig(
            path=file,
            command=_command(data["command"]),
            cwd=_cwd(data["cwd"]),
            benchmark_config=_benchmark_config(data.get("benchmark_config", {})),
        )
    except PolicyConfigError as error:
        raise PolicyConfigError(error.code, f"{file}: {error.message}") from None


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            content = stream.read(limits.MAX_DEFINITION_BYTES + 1)
    except FileNotFoundError:
        raise PolicyConfigError("missing_policy_config", "no such file") from None
    except OSError as error:
        raise PolicyConfigError("invalid_policy_config", f"cannot be read: {error.strerror}") from None
    if len(content) > limits.MAX_DEFINITION_BYTES:
        most = limits.MAX_DEFINITION_BYTES
        raise PolicyConfigError("invalid_policy_config", f"larger than {most} bytes")
    return content


def _decode(content: bytes) -> dict[str, Any]:
    try:
        data = json.loads(
            content.decode("utf-8"), object_pairs_hook=_without_repetition, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise PolicyConfigError("invalid_policy_config", f"not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise PolicyConfigError("invalid_policy_config", f"must be an object, got {type(data).__name__}")
    return data


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    again = _fields.repeated(name for name, _ in pairs)
    if again:
        raise ValueError(f"field {again[0]!r} appears more than once")
    return dict(pairs)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _check_fields(data: dict[str, Any]) -> None:
    version = data.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise PolicyConfigError("invalid_policy_config", f"schema_version must be 1 or 2, got {version!r}")
    if version not in _FIELDS:
        message = f"schema_version {version}; supported: 1, 2"
        raise PolicyConfigError("unsupported_policy_config_version", message)
    for name in data:
        if name not in _FIELDS[version]:
            raise PolicyConfigError("invalid_policy_config", _unknown(name, version))
    for name in _FIELDS[version]:
        if name not in data and name not in _OPTIONAL:
            raise PolicyConfigError("invalid_policy_config", f"missing field {name!r}")


def _unknown(name: str, version: int) -> str:
    newest = POLICY_CONFIG_SCHEMA_VERSION
    if name in _FIELDS[newest]:
        return f"field {name!r} needs schema_version {newest}, the file says {version}"
    return _fields.unknown("field", name, _FIELDS[version])


def _command(value: object) -> tuple[str, ...]:
    code = "invalid_policy_command"
    if not isinstance(value, (list, tuple)):
        raise PolicyConfigError(code, f"command must be a list of strings, got {type(value).__name__}")
    if not 1 <= len(value) <= limits.MAX_COMMAND_ITEMS:
        most = limits.MAX_COMMAND_ITEMS
        raise PolicyConfigError(code, f"command must have 1 to {most} items, got {len(value)}")
    command = tuple(_word(f"command[{index}]", item, code) for index, item in enumerate(value))
    program = Path(command[0])
    if not program.is_absolute():
        raise PolicyConfigError(code, f"command[0] must be an absolute path, got {command[0]!r}")
    if not program.is_file() or not os.access(program, os.X_OK):
        raise PolicyConfigError(
            "invalid_policy_executable", f"command[0] {command[0]!r} is not an executable file"
        )
    return command


def _cwd(value: object) -> Path:
    code = "invalid_policy_cwd"
    cwd = Path(_word("cwd", value, code))
    if not cwd.is_absolute():
        raise PolicyConfigError(code, f"cwd must be an absolute path, got {str(cwd)!r}")
    if not cwd.is_dir():
        raise PolicyConfigError(code, f"cwd {str(cwd)!r} is not an existing directory")
    return cwd


def _word(field: str, value: object, code: str) -> str:
    if not isinstance(value, str):
        raise PolicyConfigError(code, f"{field} must be a string, got {type(value).__name__}")
    if not 1 <= len(value) <= limits.MAX_COMMAND_CHARACTERS:
        most = limits.MAX_COMMAND_CHARACTERS
        raise PolicyConfigError(code, f"{field} must have 1 to {most} characters, got {len(value)}")
    if "\0" in value:
        raise PolicyConfigError(code, f"{field} must not contain NUL")
    return value


def _benchmark_config(value: object) -> dict[str, dict[str, Any]]:
    try:
        settings = _fields.mapping("benchmark_config", value)
        return {
            name: _fields.json_object(f"benchmark_config.{name}", options)
            for name, options in settings.items()
        }
    except (TypeError, ValueError) as error:
        raise PolicyConfigError("invalid_policy_config", str(error)) from None
