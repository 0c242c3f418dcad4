"""What there is of a run whose end was never written: it goes on, or whoever ran it was killed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from proctor.coordinator.configuration import DATABASE_FILE
from proctor.coordinator.export import RunExport, export_run
from proctor.errors import ProctorError
from proctor.evaluation.record import EVALUATED, Outcome
from proctor.launch.workplace import last_launch
from proctor.results import resume_command


def unfinished_line(directory: Path) -> str:
    """State, benchmark and progress of such a run, for a list; a store that cannot be read is no error."""
    state = "running" if last_launch(directory)[1] else "unfinished"
    try:
        export = export_run(directory / DATABASE_FILE, directory.name)
    except ProctorError as error:
        return f"{state:<11} {error}"
    progress = f"{len(export.records)} of {len(export.planned)} episodes"
    return f"{state:<11} {export.settings.benchmark.id:<20} {progress}"


def unfinished_page(directory: Path) -> str:
    """Counts from the run's store, and how to go on. A rate comes with the report of a run that ended.

    Raises UsageError or StorageFault for a store that cannot be read.
    """
    export = export_run(directory / DATABASE_FILE, directory.name)
    command, running = last_launch(directory)
    outcomes = Counter(record.outcome for record in export.records)
    counts = ", ".join(f"{outcomes[outcome]} {outcome.value}" for outcome in Outcome if outcome in EVALUATED)
    return "\n".join(
        [
            f"{export.name} on {export.settings.benchmark.id}: {'running' if running else 'unfinished'}",
            f"{len(export.records)} of {len(export.planned)} planned episodes have a result: {counts}",
            *_faults(export),
            *([] if running else [f"go on with: {_go_on(command, export.name)}"]),
        ]
    )


def _go_on(command: tuple[str, ...], name: str) -> str:
    return resume_command(command, name) if command else f"the same command with --run {name} --resume"


def _faults(export: RunExport) -> list[str]:
    kinds = Counter(
        f"{fault.outcome.value}, {fault.error.phase}: {fault.error.type}"
        if fault.error
        else fault.outcome.value
        for fault in export.faults
    )
    lines = [f"{count} × {kind}, never scored" for kind, count in kinds.most_common()]
    if export.quarantined:
        lines.append(f"{len(export.quarantined)} Work Items quarantined: they used up their attempts")
    return lines
