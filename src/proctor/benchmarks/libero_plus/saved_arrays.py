"""Arrays that `torch.save` wrote, read without torch, and without running what a pickle may ask for.

LIBERO's starts lie in such files: a zip archive, in which `data.pkl` is the pickle of a numpy array.
"""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import BenchmarkFault

_ALLOWED: Final = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}
"""What the pickle of an array names."""


class _Arrays(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return super().find_class(module, name)


def read_array(path: Path) -> NDArray[np.float64]:
    """The float64 array in a file. Raises `BenchmarkFault` naming the file, for any other content."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_member(archive)) as file:
            found = _Arrays(file).load()
    except (OSError, KeyError, zipfile.BadZipFile, pickle.UnpicklingError, EOFError, ValueError) as error:
        raise BenchmarkFault(f"{path}: {error}") from None
    if not isinstance(found, np.ndarray) or found.dtype != np.float64:
        raise BenchmarkFault(f"{path}: holds {type(found).__name__}, not an array of float64")
    return found


def _member(archive: zipfile.ZipFile) -> str:
    for name in archive.namelist():
        if name.endswith("/data.pkl"):
            return name
    raise KeyError("data.pkl is missing")
