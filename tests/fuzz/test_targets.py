"""Every fuzzing target takes its seeds and small changes of them, without a fuzzer."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

FUZZ = Path(__file__).resolve().parents[2] / "fuzz"
TARGETS = sorted(path.stem for path in FUZZ.glob("*.py") if path.stem != "fuzzing")

EDITS = st.lists(
    st.tuples(st.integers(0, 4000), st.integers(0, 8), st.binary(max_size=9)), min_size=1, max_size=3
)
"""Where, how much is taken out, and what is put there."""


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FUZZ)
        spec = importlib.util.spec_from_file_location(f"fuzz_{request.param}", FUZZ / f"{request.param}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    sys.modules.pop("fuzzing", None)
    return module


@given(EDITS, st.integers(0, 99))
@settings(max_examples=150)
def test_a_changed_seed_is_taken_or_refused(
    target: ModuleType, edits: list[tuple[int, int, bytes]], choice: int
) -> None:
    data = target.SEEDS[choice % len(target.SEEDS)]
    for at, length, instead in edits:
        at %= len(data) + 1
        data = data[:at] + instead + data[at + length :]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        target.check(data)


def test_every_seed_is_taken_or_refused(target: ModuleType) -> None:
    for seed in target.SEEDS:
        target.check(seed)


def test_every_target_is_listed() -> None:
    page = (FUZZ / "README.md").read_text()
    assert [name for name in TARGETS if f"`{name}.py`" not in page] == []
