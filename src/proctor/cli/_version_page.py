"""A benchmark version as a page of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proctor.benchmarks.definition import ActionDefinition, FeatureDefinition, RenderProfile
from proctor.benchmarks.version import BenchmarkVersion, verify
from proctor.errors import VersionChangedError


def describe(version: BenchmarkVersion) -> str:
    """Everything that moves a score, in the order in which people ask; settings by name alone."""
    definition = version.definition
    lines = [
        f"{definition.id} · {status_of(version)} · {version.hash}",
        definition.title,
        definition.description.strip(),
        "",
        *(f"{name:<14} {text}" for name, text in _facts(version).items()),
        "",
        "features",
        *_columns(_feature(feature) for feature in definition.features),
        "",
        "actions (the first is the default)",
        *_columns(_action(action) for action in definition.actions),
        "",
        "tasks",
        *_columns((task.id, f"horizon {task.horizon}", task.instruction) for task in definition.tasks),
    ]
    return "\n".join(lines)


def status_of(version: BenchmarkVersion) -> str:
    """`draft`, `frozen`, or `CHANGED` for a frozen version whose files are not the frozen ones."""
    try:
        verify(version)
    except VersionChangedError:
        return "CHANGED"
    return version.status


def _facts(version: BenchmarkVersion) -> dict[str, str]:
    definition = version.definition
    recorded = sum(episode.initial_state is not None for episode in version.episodes)
    stops = "the episode stops there" if definition.stop_on_success else "the episode goes on"
    packages = ", ".join(f"{name} {pin}" for name, pin in definition.packages.items())
    return {
        "tasks": f"{len(definition.tasks)}, {len(version.episodes)} episodes",
        "starts": f"{recorded} of {len(version.episodes)} recorded",
        "success": f"{definition.success} (held: {definition.held_steps} steps in a row); {stops}",
        "execute_steps": f"{definition.execute_steps} at {definition.control_hz:g} Hz",
        "settle_steps": str(definition.settle_steps),
        "render": _render(definition.render),
        "a policy says": f"supported_benchmarks=({definition.family!r},)",
        "environment": ": ".join(filter(None, (definition.environment, packages))),
        "suites": ", ".join(f"{name} ({len(tasks)})" for name, tasks in definition.suites.items()),
        "settings": ", ".join(sorted(definition.settings)) or "none",
        "directory": str(version.directory and version.directory.resolve()),
    }


def _render(profile: RenderProfile) -> str:
    shown = {"shadows": profile.shadows, "reflections": profile.reflections}
    parts = [name if on else f"no {name}" for name, on in shown.items()]
    return f"{profile.name}: {', '.join(parts)}, {profile.multisamples} samples per pixel"


def _feature(feature: FeatureDefinition) -> Sequence[str]:
    shape = " × ".join(map(str, feature.shape or ()))
    need = "required" if feature.required else "optional"
    view = ", ".join(filter(None, (feature.camera, feature.orientation)))
    said = f"[{view}] {feature.description}" if view else feature.description
    return feature.name, f"{feature.dtype or 'text'} {shape}".strip(), need, said


def _action(action: ActionDefinition) -> Sequence[str]:
    bounds = list(zip(action.low, action.high, strict=True))
    same = len(set(bounds)) == 1
    limits = " ".join(f"{low:g}…{high:g}" for low, high in (bounds[:1] if same else bounds))
    kind = f"{action.dtype} × {action.dimension}"
    said = "; ".join(filter(None, (action.description.rstrip("."), f"limits {limits}")))
    return action.representation, kind, f"out of limits: {action.limits}", said


def _columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows of equal length, one below the other; the last column is as wide as it is."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
    return [
        "  ".join(
            ["", *(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]
        ).rstrip()
        for row in cells
    ]
