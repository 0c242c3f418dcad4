"""How many actions of a chunk are applied before the policy is asked again.

`fixed:k`     every chunk has at least k actions and exactly k of them are applied.
`policy<=k`   the whole chunk is applied, but never more than k actions of it.

Where the server owns the chunk, everything it sends is applied, and the run says so.
"""

from __future__ import annotations

import re
from typing import Final, Literal, Protocol

import msgspec

from proctor.errors import InvalidActionError, UsageError

SERVER_OWNED: Final = "server-owned"
"""What stands in a run's settings in place of a rule where the server owns the chunk."""

_RULE = re.compile(r"(fixed:|policy<=)([1-9][0-9]*)")


class ExecutionRule(Protocol):
    """Turns chunk lengths into numbers of control steps."""

    def applied(self, length: int) -> int:
        """Actions applied of a chunk of `length`. Raises `InvalidActionError` if it is too short."""
        ...

    def may_ask_after(self, steps: int) -> bool:
        """Whether some inference can come `steps` control steps after another, in one or more chunks."""
        ...


class FixedSteps(msgspec.Struct, frozen=True):
    """`fixed:k`."""

    count: int

    def applied(self, length: int) -> int:
        """`count`, always."""
        if length < self.count:
            raise InvalidActionError(
                f"the chunk has {length} action(s), but execute_steps is fixed:{self.count}; "
                f"return at least {self.count}, or run with --execute-steps 'policy<={self.count}'"
            )
        return self.count

    def may_ask_after(self, steps: int) -> bool:
        """Only after whole chunks."""
        return steps >= 0 and steps % self.count == 0


class UpToSteps(msgspec.Struct, frozen=True):
    """`policy<=k`."""

    limit: int

    def applied(self, length: int) -> int:
        """The whole chunk, but never more than `limit`."""
        return min(length, self.limit)

    def may_ask_after(self, steps: int) -> bool:
        """After any number of steps: chunks of one action are allowed."""
        return steps >= 0


class ServerOwnedSteps(msgspec.Struct, frozen=True):
    """The server decided already; what it sends is what it wants applied."""

    def applied(self, length: int) -> int:
        """All of them."""
        return length

    def may_ask_after(self, steps: int) -> bool:
        """After any number of steps."""
        return steps >= 0


def parse_execute_steps(rule: str) -> FixedSteps | UpToSteps:
    """Read a rule as `benchmark.toml` and `--execute-steps` write it.

    >>> parse_execute_steps("policy<=10").applied(16)
    10
    """
    match = _RULE.fullmatch(rule)
    if match is None:
        raise UsageError(f"execute_steps {rule!r} is not a rule; valid: 'fixed:k' or 'policy<=k' with k >= 1")
    count = int(match[2])
    return FixedSteps(count) if match[1] == "fixed:" else UpToSteps(count)


def execution_rule(rule: str, chunk_owner: Literal["worker", "server"]) -> ExecutionRule:
    """The rule that holds for a session whose chunks belong to `chunk_owner`."""
    return ServerOwnedSteps() if chunk_owner == "server" else parse_execute_steps(rule)
