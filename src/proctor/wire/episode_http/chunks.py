"""How much of a chunk a server gives out before it asks its policy again: the benchmark's execute_steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from numpy.typing import NDArray

from proctor.errors import InvalidActionError, UsageError

_RULE: Final = re.compile(r"(fixed:|policy<=)([1-9][0-9]*)")


@dataclass(frozen=True)
class ChunkRule:
    """At least `least` actions are needed, at most `most` are given out (None: all)."""

    least: int = 1
    most: int | None = None

    def applied(self, actions: NDArray[Any]) -> NDArray[Any]:
        """The actions to give out, (n, dimension), of a chunk (dimension,) or (n, dimension).

        Raises `InvalidActionError` for a chunk that is too short.
        """
        rows = actions.reshape(-1, actions.shape[-1])
        if len(rows) < self.least:
            raise InvalidActionError(
                f"the chunk has {len(rows)} action(s), but execute_steps is fixed:{self.least}"
            )
        return rows[: self.most]


def chunk_rule(execute_steps: object) -> ChunkRule:
    """The rule as a benchmark states it, `fixed:k` or `policy<=k`; None: whole chunks.

    Raises `UsageError` for anything else.
    """
    if execute_steps is None:
        return ChunkRule()
    match = _RULE.fullmatch(str(execute_steps))
    if match is None:
        raise UsageError(f"execute_steps {execute_steps!r} is not a rule; valid: 'fixed:k' or 'policy<=k'")
    count = int(match[2])
    return ChunkRule(count if match[1] == "fixed:" else 1, count)
