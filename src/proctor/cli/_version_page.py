"""A benchmark version as a page of text."""

from __future__ import annotations

from proctor.benchmarks.version import BenchmarkVersion, verify
from proctor.errors import VersionChangedError


def describe(version: BenchmarkVersion) -> str:
    """Everything that moves a score, in the order in which people ask."""
    definition = version.definition
    lines = [
        f"{definition.id} · {status_of(version)} · {version.hash}",
        definition.title,
        definition.description.strip(),
        "",
        f"tasks          {len(definition.tasks)}, {len(version.episodes)} episodes",
        f"success        {definition.success} (held: {definition.held_steps} steps in a row)",
        f"execute_steps  {definition.execute_steps} at {definition.control_hz:g} Hz",
        f"render         {definition.render.name}",
        f"a policy says  supported_benchmarks=({definition.family!r},)",
        f"environment    {definition.environment}: "
        + ", ".join(f"{name} {pin}" for name, pin in definition.packages.items()),
        f"suites         {', '.join(f'{name} ({len(tasks)})' for name, tasks in definition.suites.items())}",
        "",
        "features",
        *(_feature_line(version, index) for index in range(len(definition.features))),
        "",
        "actions (the first is the default)",
        *(
            f"  {a.representation:<28} {a.dtype} × {a.dimension}, out of limits: {a.limits}"
            for a in definition.actions
        ),
        "",
        "tasks",
        *(f"  {task.id:<28} horizon {task.horizon:<5} {task.instruction}" for task in definition.tasks),
    ]
    return "\n".join(lines)


def status_of(version: BenchmarkVersion) -> str:
    """`draft`, `frozen`, or `CHANGED` for a frozen version whose files are not the frozen ones."""
    try:
        verify(version)
    except VersionChangedError:
        return "CHANGED"
    return version.status


def _feature_line(version: BenchmarkVersion, index: int) -> str:
    feature = version.definition.features[index]
    shape = " × ".join(map(str, feature.shape or ()))
    need = "required" if feature.required else "optional"
    kind = f"{feature.dtype or 'text'} {shape}".strip()
    return f"  {feature.name:<28} {kind:<24} {need:<9} {feature.description}".rstrip()
