"""RoboCasa365's registry, read from a checkout's source without importing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.benchmarks.robocasa.manifest import task_id, tasks_text, words_of
from proctor.benchmarks.robocasa.registry import FILE, Registry, read_registry, require_registered
from proctor.errors import BenchmarkFault

SYNTHETIC = """
from collections import OrderedDict
import a_package_that_is_not_there

ATOMIC_TASK_DATASETS = OrderedDict(
    OpenJar=dict(pretrain=dict(human_path="v1/OpenJar"), horizon=450),
    ShutJar=dict(horizon=300),
)
COMPOSITE_TASK_DATASETS = OrderedDict(FillJar=dict(horizon=1650))
TARGET_TASKS = dict(
    atomic_seen=["OpenJar"],
    composite_unseen=["FillJar"],
)
"""


def checkout(directory: Path, text: str = SYNTHETIC) -> Path:
    path = directory / FILE
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return directory


def test_horizons_and_sets_are_read_without_importing(tmp_path: Path) -> None:
    registry = read_registry(checkout(tmp_path))
    assert registry.horizons == {"OpenJar": 450, "ShutJar": 300, "FillJar": 1650}
    assert registry.targets == {"atomic_seen": ("OpenJar",), "composite_unseen": ("FillJar",)}


def test_tasks_are_printed_with_the_registrys_horizons(tmp_path: Path) -> None:
    text = tasks_text(read_registry(checkout(tmp_path)))
    assert (
        'id = "fill-jar"\ninstruction = "fill jar"\nhorizon = 1650\naxes = ["set:composite_unseen"]' in text
    )
    assert 'target50 = ["open-jar", "fill-jar"]' in text


def test_a_checkout_without_one_is_refused_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(
        BenchmarkFault, match=r"dataset_registry\.py: RoboCasa365's registry .* cannot be read"
    ):
        read_registry(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("TARGET_TASKS", "OTHER_TASKS", "no TARGET_TASKS; is it RoboCasa365's registry"),
        ("dict(horizon=300)", "dict(pretrain=1)", "ShutJar: no horizon"),
        ("horizon=300", "horizon=0", "ShutJar: horizon 0 is no count of steps"),
        ("horizon=300", "horizon='long'", "ShutJar: horizon 'long' is no count of steps"),
        ("horizon=300", "horizon=LONG", "ShutJar: line 7 is no plain value"),
        ("OrderedDict(FillJar=dict(horizon=1650))", "{}", "COMPOSITE_TASK_DATASETS: not a table of names"),
        ("import a_package", "import = a_package", "cannot be read"),
    ],
)
def test_another_registry_is_refused_with_where_and_why(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    with pytest.raises(BenchmarkFault, match=says):
        read_registry(checkout(tmp_path, SYNTHETIC.replace(old, new)))


def test_no_horizon_is_invented_for_a_task_that_the_registry_leaves_out() -> None:
    with pytest.raises(BenchmarkFault, match="gives no horizon for FillJar"):
        tasks_text(Registry({"OpenJar": 450}, {"atomic_seen": ("OpenJar", "FillJar")}))


def test_a_version_must_allow_what_the_checkout_does(tmp_path: Path) -> None:
    registry = read_registry(checkout(tmp_path))
    require_registered(registry, "robocasa/OpenJar", 450)
    with pytest.raises(BenchmarkFault, match="the version allows 300 steps, the checkout 450"):
        require_registered(registry, "robocasa/OpenJar", 300)
    with pytest.raises(BenchmarkFault, match="'OpenJug'; did you mean 'OpenJar'"):
        require_registered(registry, "robocasa/OpenJug", 450)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CloseFridge", "close fridge"),
        ("PnPCupToDrawerClose", "pnp cup to drawer close"),
        ("GarnishPancake", "garnish pancake"),
    ],
)
def test_a_name_in_words_and_as_an_id(name: str, words: str) -> None:
    assert words_of(name) == words
    assert task_id(name) == words.replace(" ", "-")
