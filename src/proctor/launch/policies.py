"""What a user may name as a policy, and what is recorded of it.

a Policy object             served by the calling process
file.py:Class, module:Class served by a process of its own, in this interpreter or another
file.json                   a policy process file: the command that serves it
unix:/path/to/socket, http://host:port, ws://host:port, host:port ...
                            a server that is already running; see `proctor.wire.endpoint`
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from proctor.errors import UsageError
from proctor.launch.digests import digest_of, file_of_class, file_of_source, files_of_command
from proctor.policy import Policy, PolicyRuntimeConfig, load_policy_runtime_config
from proctor.results import PolicyRecord
from proctor.wire.endpoint import parse_endpoint

ENDPOINT: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*:/|[^/\s]+:[0-9]+(/|$))")
"""What is an address and not a class: something like `scheme:/`, or `host:port`."""
HIDDEN: Final = "(hidden)"
_SECRET: Final = re.compile(
    r"token|secret|passw|passphrase|credential|(api|access|private)[_-]?key|signature|authorization",
    re.IGNORECASE,
)
_IN_ADDRESS: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<==)[^&#\s]+")
"""Of an address: user and password, and the values of its query."""


@dataclass(frozen=True)
class HeldPolicy:
    """A Policy object of the calling process."""

    policy: Policy


@dataclass(frozen=True)
class ClassPolicy:
    """A class, constructed with `args` in a process of its own."""

    spec: str
    args: Mapping[str, Any] = field(default_factory=dict)
    python: str | None = None
    """Interpreter to run it in: a path, `env:NAME` for a built environment, None for this one."""


@dataclass(frozen=True)
class CommandPolicy:
    """A command that serves the policy on the socket it is told."""

    config: PolicyRuntimeConfig


@dataclass(frozen=True)
class RunningPolicy:
    """A server somebody else looks after."""

    endpoint: str


PolicySource: TypeAlias = HeldPolicy | ClassPolicy | CommandPolicy | RunningPolicy


def policy_source(
    policy: str | Path | Policy, args: Mapping[str, Any] | None = None, python: str | None = None
) -> PolicySource:
    """Tell which kind of policy was named.

    Raises UsageError for something that is none, or for arguments where no constructor takes them, and
    PolicyConfigError for a wrong process file.
    """
    if isinstance(policy, Policy):
        _refuse(args, python, "a policy object is already constructed")
        return HeldPolicy(policy)
    text = str(policy)
    if ENDPOINT.match(text):
        parse_endpoint(text)
        _refuse(args, python, f"{text} is already running")
        return RunningPolicy(text)
    if text.endswith(".json"):
        _refuse(args, python, "a policy process file has its own command line")
        return CommandPolicy(load_policy_runtime_config(text))
    if ":" not in text:
        raise UsageError(
            f"policy {text!r} is none of file.py:Class, module:Class, a policy process file (.json), "
            "or the address of a running server (unix:/path, http://host:port, ws://host:port, host:port)"
        )
    try:
        json.dumps(args or {}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"policy arguments must be JSON values: {error}") from None
    return ClassPolicy(text, dict(args or {}), python)


def _refuse(args: Mapping[str, Any] | None, python: str | None, reason: str) -> None:
    if args:
        raise UsageError(f"policy arguments ({', '.join(args)}) cannot be given: {reason}")
    if python is not None:
        raise UsageError(f"a policy interpreter ({python}) cannot be given: {reason}")


def policy_record(source: PolicySource, checkpoint: str | None) -> PolicyRecord:
    """What is recorded of a policy: what was asked for, and digests of its files. Holds no secret."""
    file, files = _code_of(source)
    return PolicyRecord(
        spec=_spec_of(source),
        args=shown(source.args) if isinstance(source, ClassPolicy) else {},
        checkpoint=shown(checkpoint),
        checkpoint_sha256=digest_of(Path(checkpoint)) if checkpoint else None,
        file_sha256=digest_of(file) if file else None,
        files_sha256=files,
        verified=bool(files) if isinstance(source, CommandPolicy) else file is not None,
    )


def _spec_of(source: PolicySource) -> str:
    match source:
        case HeldPolicy(policy):
            cls = type(policy)
            return f"object:{cls.__module__}.{cls.__qualname__}"
        case ClassPolicy():
            return source.spec
        case CommandPolicy(config):
            return str(config.path)
        case RunningPolicy(endpoint):
            return endpoint


def _code_of(source: PolicySource) -> tuple[Path | None, dict[str, str]]:
    """The file with the policy's code, and the digests of others by the name that was given."""
    match source:
        case HeldPolicy(policy):
            return file_of_class(type(policy)), {}
        case ClassPolicy():
            return file_of_source(source.spec.rpartition(":")[0], source.python), {}
        case CommandPolicy(config):
            return config.path, files_of_command(config.command, config.cwd)
        case RunningPolicy():
            return None, {}


def shown(value: Any) -> Any:
    """A JSON value as it may be written down: nothing that is secret by its name or opens an address."""
    match value:
        case Mapping():
            return {name: HIDDEN if _SECRET.search(name) else shown(inner) for name, inner in value.items()}
        case list() | tuple():
            return [shown(inner) for inner in value]
        case str() if "://" in value:
            return _IN_ADDRESS.sub(HIDDEN, value)
    return value


def shown_command(words: Iterable[str]) -> tuple[str, ...]:
    """The words of a command line as they may be written down."""
    return tuple(map(_shown_word, words))


def _shown_word(word: str) -> str:
    name, equals, text = word.partition("=")
    if not equals or "://" in name:
        return str(shown(word))
    if name.startswith("--"):
        return f"{name}={_shown_word(text)}"
    if _SECRET.search(name):
        return f"{name}={HIDDEN}"
    try:
        value = json.loads(text)
    except ValueError:
        return f"{name}={shown(text)}"
    return word if shown(value) == value else f"{name}={json.dumps(shown(value))}"
