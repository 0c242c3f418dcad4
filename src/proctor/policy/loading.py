"""From `file.py:Class` or `module:Class` to a policy object, with the user's own errors shown as they are."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from proctor.errors import PolicyLoadError, UnknownNameError, UsageError, did_you_mean
from proctor.policy.lifecycle import Policy

_Result = TypeVar("_Result")
_importing: ContextVar[bool] = ContextVar("importing a policy", default=False)
_FORMS = "file.py:Class or module:Class"
_SHOWN_FRAMES = 5


def load_policy_class(spec: str) -> type[Policy]:
    """Import the class that `spec` names.

    The folder of a file, or the working directory for a module, joins the import path, so that the policy
    finds what lies beside it. Raises `UsageError` where the name leads nowhere (`UnknownNameError` with the
    nearest class), `PolicyLoadError` with the end of the user's own traceback where the import raises.
    """
    source, class_name = _split(spec)
    module = _import_file(Path(source)) if source.endswith(".py") else _import_module(source)
    return _policy_class(module, source, class_name)


def make_policy(spec: str, args: Mapping[str, object]) -> Policy:
    """Import the class that `spec` names and construct it with `args` as keywords.

    Raises what `load_policy_class` raises, `UnknownNameError` for an argument the constructor does not have,
    `UsageError` for a missing one, `PolicyLoadError` where the constructor raises.
    """
    cls = load_policy_class(spec)
    _check_arguments(cls, args)
    return _run_user_code(f"{cls.__name__}() raised", lambda: cls(**args))


def require_policy_file(path: Path) -> None:
    """Raise `UsageError`, with the nearest name, unless this is a file."""
    if not path.is_file():
        raise UsageError(f"policy file {str(path)!r} does not exist{_nearest_file(path)}")


def is_importing() -> bool:
    """Whether a policy's script is being imported here, so that its closing `run(policy)` must not serve."""
    return _importing.get()


def _split(spec: str) -> tuple[str, str]:
    source, separator, class_name = spec.rpartition(":")
    if not separator or not source or not class_name.isidentifier():
        raise UsageError(f"policy {spec!r} does not name a class; write {_FORMS}")
    return source, class_name


def _import_file(path: Path) -> ModuleType:
    require_policy_file(path)
    path = path.resolve()
    name = f"_policy_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    _join_import_path(path.parent)
    loader = SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(ModuleSpec(name, loader, origin=str(path)))
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        _run_user_code(f"importing {path} raised", lambda: loader.exec_module(module))
    except PolicyLoadError:
        del sys.modules[name]
        raise
    return module


def _import_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"policy module {name!r} is neither a module nor a .py file; write {_FORMS}")
    _join_import_path(Path.cwd())
    try:
        return _run_user_code(f"importing {name} raised", lambda: importlib.import_module(name))
    except PolicyLoadError as error:
        cause = error.__cause__
        if isinstance(cause, ModuleNotFoundError) and cause.name in _prefixes(name):
            beside = [module.name for module in pkgutil.iter_modules([str(Path.cwd())])]
            hint = did_you_mean(cause.name, beside)
            raise UsageError(f"policy module {name!r} does not exist: {cause}{hint}") from None
        raise


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def _join_import_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _nearest_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f": no folder {str(path.parent)!r}"
    return did_you_mean(path.name, [file.name for file in path.parent.glob("*.py")])


def _policy_class(module: ModuleType, source: str, name: str) -> type[Policy]:
    found = getattr(module, name, None)
    if found is None:
        raise UnknownNameError(f"class in {source}", name, _policy_classes(module))
    if not isinstance(found, type) or not issubclass(found, Policy):
        raise UsageError(f"{source}:{name} is not a subclass of proctor.Policy")
    if inspect.isabstract(found):
        missing = ", ".join(f"{hook}()" for hook in sorted(found.__abstractmethods__))
        raise UsageError(f"{source}:{name} lacks {missing}")
    return found


def _policy_classes(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Policy) and not inspect.isabstract(value)
    ]


def _check_arguments(cls: type[Policy], args: Mapping[str, object]) -> None:
    parameters = inspect.signature(cls).parameters.values()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        valid = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        for name in args:
            if name not in valid:
                raise UnknownNameError(f"argument of {cls.__name__}", name, valid)
    missing = [
        p.name
        for p in parameters
        if p.default is p.empty and p.name not in args and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if missing:
        raise UsageError(f"{cls.__name__} needs the argument {', '.join(missing)}")


def _run_user_code(what: str, call: Callable[[], _Result]) -> _Result:
    """`call()`, its exceptions (SystemExit too: a script may exit) turned into PolicyLoadError."""
    token = _importing.set(True)
    try:
        return call()
    except (Exception, SystemExit) as error:
        raise PolicyLoadError(f"{what}:\n{_traceback_end(error)}{_where_modules_are(error)}") from error
    finally:
        _importing.reset(token)


def _where_modules_are(error: BaseException) -> str:
    if not isinstance(error, ModuleNotFoundError):
        return ""
    return (
        f"\n{error.name} is not installed for {sys.executable}, where the policy runs; --policy-python names"
        " another interpreter, env:NAME that of a simulator's environment"
    )


def _traceback_end(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__ and "importlib" not in frame.filename]
    lines = [
        *traceback.format_list(own[-_SHOWN_FRAMES:]),
        *traceback.format_exception_only(type(error), error),
    ]
    return "".join(lines).rstrip()
