"""Runs a proctor module in an interpreter where proctor is not installed.

    /path/to/other/python /path/to/proctor/_bootstrap.py proctor.evaluation.worker ARGUMENTS...

makes exactly the package in this file's directory importable, as `proctor`, and nothing else that lies
beside it: the interpreter's own packages stay what they are. Runs on Python 3.10 and newer.
"""

from __future__ import annotations

import runpy
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PACKAGE_DIRECTORY = Path(__file__).resolve().parent


def make_importable() -> None:
    """Load the package from its directory, in place of any other that this interpreter would find.

    Python puts a script's directory first on `sys.path`, where `proctor/errors.py` would be importable as
    `errors`: that entry is removed.
    """
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != PACKAGE_DIRECTORY]
    spec = spec_from_file_location(
        "proctor", PACKAGE_DIRECTORY / "__init__.py", submodule_search_locations=[str(PACKAGE_DIRECTORY)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["proctor"] = module
    spec.loader.exec_module(module)


def main() -> None:
    """Run the module named by the first argument as `__main__`, with the other arguments."""
    if len(sys.argv) < 2:
        sys.exit("usage: python _bootstrap.py MODULE [ARGUMENTS...]")
    module = sys.argv[1]
    make_importable()
    sys.argv[:] = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
