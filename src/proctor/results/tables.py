"""A run's rates as text: one cell format, one table, for the terminal and for Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from proctor.results.rates import Rate
from proctor.results.statistics import Interval
from proctor.results.summary import Summary, TaskSummary

NOTHING = "–"
"""Stands where nothing was measured: an absent rate is never 0 %."""


class Table(msgspec.Struct, frozen=True):
    """Columns of text; the first is aligned left, the others right."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def rate_text(rate: Rate | None) -> str:
    """For example `95% [76, 99] (19/20)`: rate, interval and count, no finer than the interval allows."""
    if rate is None:
        return NOTHING
    digits = decimals(rate.interval)
    starts = "" if rate.starts == rate.trials else f", {rate.starts} starts"
    interval = interval_text(rate.interval)
    return f"{100 * rate.value:.{digits}f}% {interval} ({rate.successes}/{rate.trials}{starts})"


def interval_text(interval: Interval) -> str:
    """For example `[76, 99]`, in percent."""
    digits = decimals(interval)
    return f"[{100 * interval.low:.{digits}f}, {100 * interval.high:.{digits}f}]"


def decimals(interval: Interval) -> int:
    """Decimals of a percentage that an interval of this width supports."""
    if interval.width <= 0:
        return 0
    return min(max(1 - math.floor(math.log10(100 * interval.width)), 0), 3)


def task_table(summary: Summary) -> Table:
    """One row per task, and one for all of them when there is more than one."""
    rows = [_task_row(task) for task in summary.tasks]
    if len(rows) > 1:
        rows.append(_total_row(summary))
    return Table(("task", "success, 95 % interval (k/n)", "policy errors", "missing", "steps"), tuple(rows))


def axis_table(summary: Summary) -> Table:
    """One row per axis, in the order in which tasks name them."""
    rows = tuple((axis.axis, rate_text(axis.rate)) for axis in summary.axes)
    return Table(("axis", "success, 95 % interval (k/n)"), rows)


def as_text(table: Table) -> str:
    """Plain columns, two spaces apart."""
    lines = [table.header, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.header))]
    return "\n".join(_padded(line, widths) for line in lines)


def as_markdown(table: Table) -> str:
    """A Markdown table; the cells are escaped."""
    rule = ("---", *("---:" for _ in table.header[1:]))
    lines = [tuple(map(escaped, table.header)), rule, *(tuple(map(escaped, row)) for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str, limit: int = 200) -> str:
    """Text from elsewhere as one line of Markdown that formats and links nothing."""
    line = " ".join(text.split())
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    return "".join(f"\\{letter}" if letter in "\\`*[]<>|#" else letter for letter in line)


def _padded(line: Sequence[str], widths: Sequence[int]) -> str:
    first = line[0].ljust(widths[0])
    others = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
    return "  ".join((first, *others)).rstrip()


def _task_row(task: TaskSummary) -> tuple[str, ...]:
    steps = NOTHING if task.median_success_step is None else f"{task.median_success_step:.0f}"
    missing = task.planned - task.completed
    return (task.task, rate_text(task.rate), str(task.policy_errors), str(missing), steps)


def _total_row(summary: Summary) -> tuple[str, ...]:
    ledger = summary.ledger
    name = "mean of tasks" if summary.headline else "mean of tasks, completed episodes only"
    return (name, rate_text(summary.over_completed), str(ledger.policy_error), str(ledger.missing), "")
