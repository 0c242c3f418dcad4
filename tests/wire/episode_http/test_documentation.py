"""The page about the protocol tells every code that the server answers, and every default that holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proctor.wire import episode_http, http
from proctor.wire.episode_http.client import PAUSES_S
from proctor.wire.episode_http.faults import FINAL

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "dialect-episode-http.md").read_text()
PACKAGES = (Path(str(package.__file__)).parent for package in (episode_http, http))
SOURCES = "".join(file.read_text() for package in PACKAGES for file in sorted(package.glob("*.py")))
CODES = set(re.findall(r'refusal\(\s*\d+,\s*"(\w+)"', SOURCES))


def test_the_codes_are_found_in_the_source() -> None:
    assert {"unauthorized", "unknown_episode", "step_out_of_order", "too_large", *FINAL} < CODES


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_told(code: str) -> None:
    assert f"`{code}`" in PAGE


def test_the_pauses_are_told() -> None:
    assert "after {:g}, {:g} and {:g} s".format(*PAUSES_S) in PAGE
