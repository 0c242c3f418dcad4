"""`docs/reference/mapping.md` and the command line's page say what is true."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from proctor.benchmarks.registry import find_version
from proctor.benchmarks.spec import benchmark_spec
from proctor.wire.dialects import SCHEMES_OF, SHELLS
from proctor.wire.mapper import Mapper
from proctor.wire.mapping import ImageMapping, Mapping, StateMapping
from proctor.wire.mapping_files import find_mapping
from proctor.wire.presets import PRESETS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "mapping.md").read_text()
HOW_TO = (DOCS / "how-to" / "foreign-servers.md").read_text()


@pytest.mark.parametrize("kind", [Mapping, ImageMapping, StateMapping])
def test_every_field_is_described(kind: type[msgspec.Struct]) -> None:
    assert {name for name in kind.__struct_fields__ if f"`{name}`" not in PAGE} == set()


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_is_listed_with_its_keys(name: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    mapping = PRESETS[name]
    keys = [entry.key for entry in (*mapping.images, *mapping.states)]
    if name not in ("starvla", "embodybench-ee"):
        assert [key for key in keys if f"`{key}`" not in row] == []
    if mapping.action_representation is not None:
        assert f"`{mapping.action_representation}`" in row


def test_the_example_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "example.toml").write_text(block)
    benchmark = benchmark_spec(find_version("aloha-sim-v1").definition)
    made = Mapper(find_mapping(str(tmp_path / "example.toml")), benchmark)
    assert made.features == ("images.top", "state.joints", "language.instruction")


@pytest.mark.parametrize("name", sorted(SCHEMES_OF))
def test_every_dialect_has_its_address(name: str) -> None:
    rows = [line for line in HOW_TO.splitlines() if line.startswith("| `") and f"`{name}`" in line]
    assert len(rows) == 1
    assert any(f"{scheme}:" in rows[0] for scheme in SCHEMES_OF[name])


@pytest.mark.parametrize("name", sorted(SHELLS.names()))
def test_what_is_served_is_also_evaluated(name: str) -> None:
    assert name in SCHEMES_OF
