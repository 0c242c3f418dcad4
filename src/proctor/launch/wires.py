"""How a run speaks to its policy servers."""

from __future__ import annotations

from proctor.errors import PolicyGoneError, UsageError
from proctor.launch.planning import EvaluationPlan
from proctor.launch.policies import CommandPolicy, RunningPolicy
from proctor.wire.choice import choose_wire
from proctor.wire.opening import LOCAL, Wire


def wire_of(plan: EvaluationPlan) -> Wire | None:
    """The wire of this plan; None for a command whose server has to listen before it can be found out.

    Raises as `choose_wire`, and UsageError where nobody listens: nobody here could bring that server up.
    """
    if isinstance(plan.source, CommandPolicy):
        dialect = plan.request.dialect
        return None if dialect is None else Wire(dialect, reason="as --dialect says")
    if not isinstance(plan.source, RunningPolicy):
        return LOCAL
    endpoint = plan.source.endpoint
    try:
        return choose_wire(endpoint, dialect=plan.request.dialect, mapping=plan.mapping, access=plan.access)
    except PolicyGoneError as gone:
        raise UsageError(f"policy {endpoint}: {str(gone).removeprefix(f'{endpoint}: ')}") from None


def told(wire: Wire) -> str:
    """What the user is told of it."""
    mapping = "" if wire.mapping is None else f", mapping {wire.mapping.name}"
    return f"the policy server is taken for {wire.dialect} ({wire.reason}){mapping}"
