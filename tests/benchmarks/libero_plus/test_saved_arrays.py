"""Arrays that torch saved, read without it."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from proctor.benchmarks.libero_plus.saved_arrays import read_array
from proctor.errors import BenchmarkFault


def saved(path: Path, value: object, member: str = "archive/data.pkl") -> Path:
    """As torch.save writes it: protocol 2, in a zip archive."""
    # numpy 2 names its own modules otherwise than the numpy that wrote the files.
    data = pickle.dumps(value, protocol=2).replace(b"numpy._core", b"numpy.core")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, data)
        archive.writestr("archive/version", "3\n")
    return path


@pytest.mark.filterwarnings("ignore:numpy.core:DeprecationWarning")
def test_an_array_is_read_as_it_was(tmp_path: Path) -> None:
    array = np.random.default_rng(0).normal(size=(3, 50))
    found = read_array(saved(tmp_path / "starts", array))
    assert found.dtype == np.float64
    assert np.array_equal(found, array)


class _Attack:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch attacked",)


def test_a_pickle_that_names_anything_else_is_refused_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BenchmarkFault, match=r"starts: it names posix\.system"):
        read_array(saved(tmp_path / "starts", _Attack()))
    assert not (tmp_path / "attacked").exists()


def test_what_is_no_array_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFault, match=r"starts: holds list, not an array of float64"):
        read_array(saved(tmp_path / "starts", [1.0, 2.0]))


@pytest.mark.filterwarnings("ignore:numpy.core:DeprecationWarning")
def test_an_array_of_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFault, match="not an array of float64"):
        read_array(saved(tmp_path / "starts", np.zeros(3, np.int64)))


def test_an_archive_without_an_array_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFault, match=r"starts: .*data\.pkl is missing"):
        read_array(saved(tmp_path / "starts", 1, member="other"))


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "starts").write_bytes(content)
    with pytest.raises(BenchmarkFault, match="starts: "):
        read_array(tmp_path / "starts")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFault, match="starts: "):
        read_array(tmp_path / "starts")
