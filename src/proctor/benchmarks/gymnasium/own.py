"""The short file in which people declare a benchmark of their own, and the version that it stands for.

`proctor bench eval mine.toml` runs the draft; `proctor bench freeze mine.toml` writes it down as a directory
like any other version's. `docs/tutorials/own-benchmark.md` shows one, `docs/reference/own-benchmark.md` names
every key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec.structs import replace

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    Count,
    FeatureDefinition,
    FeatureName,
    GripperDefinition,
    Name,
    Positive,
    TaskDefinition,
)
from proctor.benchmarks.freezing import make_episodes
from proctor.benchmarks.gymnasium import REFERENCE
from proctor.benchmarks.gymnasium.making import split_file
from proctor.benchmarks.gymnasium.settings import (
    INSTRUCTION,
    LaneSettings,
    Source,
    SuccessRule,
    lane_settings,
)
from proctor.benchmarks.listing import SEAL
from proctor.benchmarks.toml_text import to_toml
from proctor.benchmarks.version import (
    DEFINITION_FILE,
    EPISODES_FILE,
    BenchmarkVersion,
    draft,
    encode_episodes,
    read_toml,
)
from proctor.errors import UsageError
from proctor.limits import MAX_OWN_EPISODES
from proctor.parsing import parse

FAMILY_NAME: Final = "gymnasium"
OWN_ENVIRONMENT: Final = "own"
"""Environment of a benchmark whose workers run in an interpreter that the user names."""

_RESERVED: Final = (DEFINITION_FILE, EPISODES_FILE, SEAL)
_KINDS: Final[dict[str, Literal["image", "state", "language"]]] = {
    "images": "image",
    "state": "state",
    "language": "language",
    "privileged": "state",
}

Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class OwnFeature(Source, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One feature and where it comes from."""

    name: FeatureName
    kind: Literal["image", "state", "language"] | None = None
    """By the name's prefix where it is not given; `privileged.*` is a state."""
    dtype: str | None = None
    """`uint8` for an image where it is not given."""
    shape: tuple[int, ...] | None = None
    required: bool = False
    orientation: Literal["upright", "rotated-180", "flipped-vertical"] = "upright"
    description: str = ""


class OwnAction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a policy's action vector means, and how it is applied."""

    dtype: str
    low: Annotated[tuple[float, ...], msgspec.Meta(min_length=1)]
    high: tuple[float, ...]
    limits: Literal["clip", "reject", "pass"]
    representation: Name | None = None
    """`<id>.action` where it is not given."""
    discrete: Literal["argmax"] | None = None
    hold: Literal["last"] | tuple[float, ...] | None = None
    description: str = ""


class OwnSuccess(SuccessRule, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When the goal holds, and which meaning of that is the headline."""

    when: Literal["once", "at_end", "held"]
    held_steps: Count = 1
    stop_on_success: bool = True


class OwnTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task."""

    id: Name
    instruction: str
    horizon: Count
    weight: Positive = 1.0
    axes: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    reset_options: dict[str, Any] = {}


class OwnBenchmark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    schema: Literal[1]
    id: Name
    title: str
    make: str
    control_hz: Positive
    execute_steps: str
    success: OwnSuccess
    action: OwnAction
    features: Annotated[tuple[OwnFeature, ...], msgspec.Meta(min_length=1)]
    tasks: Annotated[tuple[OwnTask, ...], msgspec.Meta(min_length=1)]
    episodes: Annotated[int, msgspec.Meta(ge=1, le=MAX_OWN_EPISODES)] | None = None
    """Per task, with seeds by the rule of `proctor.benchmarks.freezing.make_episodes`."""
    seeds: Annotated[tuple[Seed, ...], msgspec.Meta(min_length=1, max_length=MAX_OWN_EPISODES)] | None = None
    """The seeds of every task, in place of `episodes`."""
    description: str = ""
    environment: Name = OWN_ENVIRONMENT
    imports: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Other files of the benchmark, beside this one: copied and sealed with it."""
    options: dict[str, Any] = {}
    reset_options: dict[str, Any] = {}
    render_every_step: bool = False
    metrics: tuple[str, ...] = ()
    suites: dict[Name, tuple[str, ...]] = {}
    grippers: tuple[GripperDefinition, ...] = ()
    packages: dict[str, str] = {}
    window: Count = 5
    initial_state_tolerance: Annotated[float, msgspec.Meta(ge=0)] = 1e-6


def own_version(path: Path) -> BenchmarkVersion:
    """The draft that a file stands for. Its hash covers the environment's file and the other `files`.

    Raises `UsageError` naming the field at fault, or a file that is not there.
    """
    own = _read(path)
    version = _draft(own, path)
    content = [version.hash, *(_digest(path.parent / name) for name in _files(own))]
    hash_ = hashlib.sha256("\n".join(content).encode()).hexdigest()
    return BenchmarkVersion(version.definition, version.episodes, "draft", hash_, path.parent)


def write_own(path: Path, root: Path) -> Path:
    """Write the draft that a file stands for as the directory `root/<id>`, which must be new; returns it."""
    own = _read(path)
    version, directory = _draft(own, path), root / own.id
    directory.mkdir(parents=True)
    (directory / DEFINITION_FILE).write_text(to_toml(msgspec.to_builtins(version.definition)))
    (directory / EPISODES_FILE).write_bytes(encode_episodes(version.episodes))
    for name in _files(own):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes((path.parent / name).read_bytes())
    return directory


def _read(path: Path) -> OwnBenchmark:
    own = parse(read_toml(path), OwnBenchmark, str(path))
    if (own.episodes is None) == (own.seeds is None):
        raise UsageError(f"{path}: give either episodes, a count, or seeds, a list")
    for name in _files(own):
        _check_file(path, name)
    return own


def _draft(own: OwnBenchmark, path: Path) -> BenchmarkVersion:
    try:
        definition = _definition(own)
        version = draft(definition, _episodes(own, definition))
        for task in definition.tasks:
            lane_settings(definition, task)
    except UsageError as error:
        error.args = (f"{path}: {error}",)
        raise
    return version


def _definition(own: OwnBenchmark) -> BenchmarkDefinition:
    fields = BenchmarkDefinition(
        schema=1,
        id=own.id,
        title=own.title,
        description=own.description,
        family=FAMILY_NAME,
        environment=own.environment,
        control_hz=own.control_hz,
        execute_steps=own.execute_steps,
        settle_steps=0,
        success=own.success.when,
        held_steps=own.success.held_steps,
        stop_on_success=own.success.stop_on_success,
        policy_reset="episode",
        on_native_crash="retry",
        window=own.window,
        initial_state_tolerance=own.initial_state_tolerance,
        render=REFERENCE,
        features=tuple(_feature(feature) for feature in own.features),
        grippers=own.grippers,
        actions=(_action(own),),
        tasks=tuple(_task(task) for task in own.tasks),
        suites={"all": tuple(task.id for task in own.tasks), **own.suites},
        packages=own.packages,
        settings=msgspec.json.decode(msgspec.json.encode(_settings(own))),
    )
    # Checked as if it had been read: types alone do not know the patterns of names and rules.
    return parse(msgspec.to_builtins(fields), BenchmarkDefinition, "the benchmark")


def _feature(own: OwnFeature) -> FeatureDefinition:
    kind = own.kind or _KINDS[own.name.partition(".")[0]]
    image = kind == "image"
    return FeatureDefinition(
        name=own.name,
        kind=kind,
        dtype=own.dtype or ("uint8" if image else None),
        shape=own.shape,
        required=own.required,
        orientation=own.orientation if image else None,
        codec="raw" if image else None,
        description=own.description,
    )


def _action(own: OwnBenchmark) -> ActionDefinition:
    action = own.action
    return ActionDefinition(
        representation=action.representation or f"{own.id}.action",
        dimension=len(action.low),
        dtype=action.dtype,
        limits=action.limits,
        low=action.low,
        high=action.high,
        description=action.description,
    )


def _task(own: OwnTask) -> TaskDefinition:
    additions = {"options": own.options, "reset_options": own.reset_options}
    return TaskDefinition(
        id=own.id,
        instruction=own.instruction,
        horizon=own.horizon,
        weight=own.weight,
        axes=own.axes,
        settings={key: value for key, value in additions.items() if value},
    )


def _settings(own: OwnBenchmark) -> LaneSettings:
    rule = {name: getattr(own.success, name) for name in SuccessRule.__struct_fields__}
    return LaneSettings(
        make=own.make,
        features={
            feature.name: Source(feature.source, feature.key)
            for feature in own.features
            if feature.name != INSTRUCTION
        },
        success=SuccessRule(**rule),
        imports=own.imports,
        options=own.options,
        reset_options=own.reset_options,
        render_every_step=own.render_every_step,
        metrics=own.metrics,
        discrete=own.action.discrete,
        hold=own.action.hold,
    )


def _episodes(own: OwnBenchmark, definition: BenchmarkDefinition) -> Sequence[Episode]:
    if own.seeds is None:
        return make_episodes(definition, own.episodes or 0)
    listed = make_episodes(definition, len(own.seeds))
    return [replace(episode, seed=own.seeds[episode.index]) for episode in listed]


def _files(own: OwnBenchmark) -> list[str]:
    """Names of all files that belong to the benchmark, sorted."""
    named = split_file(own.make)
    return sorted({*own.files, *((named[0],) if named else ())})


def _check_file(path: Path, name: str) -> None:
    parts, file = PurePosixPath(name).parts, path.parent / name
    if not parts or name.startswith("/") or ".." in parts or name in _RESERVED:
        raise UsageError(
            f"{path}: file {name!r} must lie beside this one or below, with a name other than "
            f"{', '.join(_RESERVED)}"
        )
    if file.is_symlink() or not file.is_file():
        raise UsageError(f"{path}: file {name!r} is not there, or a link; a version holds its own files")


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
