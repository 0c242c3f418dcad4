from __future__ import annotations

import pytest

from proctor.errors import InvalidActionError, UsageError
from proctor.evaluation.execution import execution_rule, parse_execute_steps


def test_fixed_applies_exactly_k_of_longer_chunks() -> None:
    assert [parse_execute_steps("fixed:4").applied(length) for length in (4, 5, 16)] == [4, 4, 4]


def test_fixed_refuses_a_shorter_chunk_and_says_what_to_do() -> None:
    with pytest.raises(
        InvalidActionError, match=r"has 3 action\(s\), but execute_steps is fixed:4; .*policy<=4"
    ):
        parse_execute_steps("fixed:4").applied(3)


def test_policy_applies_the_whole_chunk_up_to_k() -> None:
    assert [parse_execute_steps("policy<=10").applied(length) for length in (1, 10, 16)] == [1, 10, 10]


def test_a_server_that_owns_its_chunks_has_all_of_them_applied() -> None:
    assert execution_rule("fixed:4", "server").applied(7) == 7


def test_inferences_follow_each_other_by_whole_chunks_only_under_fixed() -> None:
    fixed, free = parse_execute_steps("fixed:3"), parse_execute_steps("policy<=3")
    assert [steps for steps in range(-1, 8) if fixed.may_ask_after(steps)] == [0, 3, 6]
    assert [steps for steps in range(-1, 4) if free.may_ask_after(steps)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "rule", ["", "fixed:0", "fixed:-1", "fixed:1.5", "policy<=0", "policy<10", "all", "fixed:2 "]
)
def test_anything_else_is_refused_naming_both_forms(rule: str) -> None:
    with pytest.raises(UsageError, match="valid: 'fixed:k' or 'policy<=k'"):
        parse_execute_steps(rule)
