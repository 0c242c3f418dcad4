"""SECURITY.md shows every limit with its value, so that an operator can read them without the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor import limits

PAGE = (Path(__file__).parents[1] / "SECURITY.md").read_text()
NAMES = [name for name in vars(limits) if name.isupper()]


@pytest.mark.parametrize("name", NAMES)
def test_the_limits_table_has_the_value_in_force(name: str) -> None:
    assert f"| `{name}` | {getattr(limits, name):,} |" in PAGE
