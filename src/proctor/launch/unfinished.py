"""What there is of a run whose end was never written: it goes on, or whoever ran it was killed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from proctor.coordinator.configuration import DATABASE_FILE
from proctor.coordinator.export import RunExport, export_run
from proctor.evaluation.record import EVALUATED, Outcome


def unfinished_page(directory: Path) -> str:
    """Counts from the run's store, and how to go on. A rate comes with the report of a run that ended.

    Raises UsageError or StorageFault for a store that cannot be read.
    """
    export = export_run(directory / DATABASE_FILE, directory.name)
    outcomes = Counter(record.outcome for record in export.records)
    counts = ", ".join(f"{outcomes[outcome]} {outcome.value}" for outcome in Outcome if outcome in EVALUATED)
    return "\n".join(
        [
            f"{export.name} on {export.settings.benchmark.id}: unfinished",
            f"{len(export.records)} of {len(export.planned)} planned episodes have a result: {counts}",
            *_faults(export),
            f"unless it is running, go on: the same command with --run {export.name} --resume",
        ]
    )


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
