from __future__ import annotations

import json

import pytest

from proctor.errors import text_of
from proctor.policy import FeatureSpec
from proctor.policy.places import place_of


def test_it_is_the_last_line_of_the_policys_own_code() -> None:
    with pytest.raises(ValueError, match="Expecting") as raised:
        json.loads("{")
    assert place_of(raised.value) == f" ({__file__}:{raised.traceback[0].lineno + 1})"


def test_what_proctor_refuses_is_told_by_the_line_that_asked() -> None:
    with pytest.raises(TypeError) as raised:
        FeatureSpec.from_dict({"name": 3, "kind": "state"})
    assert text_of(raised.value)
    assert place_of(raised.value).startswith(f" ({__file__}:")


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert place_of(ValueError()) == ""
