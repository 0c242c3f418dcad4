from __future__ import annotations

import pytest

from proctor.results import resume_command


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (("proctor", "bench", "eval", "b", "--run", "r"), "proctor bench eval b --run r --resume"),
        (("proctor", "bench", "eval", "b"), "proctor bench eval b --run r --resume"),
        (("proctor", "--run=r", "--resume"), "proctor --run=r --resume"),
        (("proctor", "--policy-arg", "a={}"), "proctor --policy-arg 'a={}' --run r --resume"),
        ((), "proctor.evaluate(..., name='r', resume=True)"),
    ],
)
def test_it_is_the_command_that_started_the_run_gone_on_with(command: tuple[str, ...], text: str) -> None:
    assert resume_command(command, "r") == text
