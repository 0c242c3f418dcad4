"""`docs/reference/results-format.md` names every field that can appear in the files it describes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from proctor.evaluation.record import EpisodeRecord, Outcome
from proctor.results.results_file import ResultsFile

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "results-format.md").read_text()


def fields(kind: msgspec.inspect.Type) -> Iterator[str]:
    if isinstance(kind, msgspec.inspect.StructType):
        for field in kind.fields:
            yield field.name
            yield from fields(field.type)
    elif isinstance(kind, msgspec.inspect.UnionType):
        for member in kind.types:
            yield from fields(member)
    elif isinstance(kind, msgspec.inspect.VarTupleType):
        yield from fields(kind.item_type)
    elif isinstance(kind, msgspec.inspect.DictType):
        yield from fields(kind.value_type)


@pytest.mark.parametrize("root", [ResultsFile, EpisodeRecord])
def test_every_field_is_described(root: type) -> None:
    names = set(fields(msgspec.inspect.type_info(root)))
    assert len(names) > 20
    assert {name for name in names if f"`{name}`" not in PAGE} == set()


def test_every_outcome_is_named() -> None:
    assert {outcome.value for outcome in Outcome if f"`{outcome.value}`" not in PAGE} == set()
