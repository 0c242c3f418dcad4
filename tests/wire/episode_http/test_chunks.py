"""How much of a chunk is given out."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.errors import InvalidActionError, UsageError
from proctor.wire.episode_http.chunks import chunk_rule

CHUNK = np.arange(10).reshape(5, 2)


@pytest.mark.parametrize(
    ("rule", "count"), [(None, 5), ("policy<=3", 3), ("policy<=9", 5), ("fixed:2", 2), ("fixed:5", 5)]
)
def test_a_chunk_is_given_out_by_the_rule(rule: str | None, count: int) -> None:
    np.testing.assert_array_equal(chunk_rule(rule).applied(CHUNK), CHUNK[:count])


def test_a_single_action_is_a_chunk_of_one() -> None:
    assert chunk_rule("policy<=3").applied(np.zeros(2)).shape == (1, 2)


def test_a_chunk_may_be_too_short() -> None:
    with pytest.raises(InvalidActionError, match=r"5 action\(s\), but execute_steps is fixed:6"):
        chunk_rule("fixed:6").applied(CHUNK)


@pytest.mark.parametrize("rule", ["", "fixed:0", "policy<=x", 3])
def test_what_is_no_rule_is_refused(rule: object) -> None:
    with pytest.raises(UsageError, match="is not a rule"):
        chunk_rule(rule)
