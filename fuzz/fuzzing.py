"""Runs a target under libFuzzer: whatever it makes up is taken, or refused by a documented exception.

A target is a module with `SEEDS`, inputs to begin with, and `check(data)`, which raises for a finding.
Warnings are findings too. What libFuzzer learns is kept in `.fuzz/<target>/corpus`, inputs that failed in
`.fuzz/<target>/findings`. Arguments are libFuzzer's: `python fuzz/image_files.py -max_total_time=60`.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / ".fuzz"
DEFAULTS = (
    "-timeout=2",
    "-rss_limit_mb=512",
    "-malloc_limit_mb=128",
    "-max_len=65536",
    "-print_final_stats=1",
)


def instrumented() -> AbstractContextManager[object]:
    """Measures the coverage of proctor's modules that are imported within; does nothing without atheris."""
    try:
        import atheris
    except ImportError:
        return contextlib.nullcontext()
    made: AbstractContextManager[object] = atheris.instrument_imports(
        include=["proctor", "h11", "websockets"]
    )
    return made


def run(check: Callable[[bytes], None], seeds: Sequence[bytes]) -> None:
    """Fuzz until libFuzzer's arguments say that it is enough. Never returns."""
    import atheris

    logging.disable()
    warnings.simplefilter("error")
    home = ROOT / Path(sys.argv[0]).stem
    corpus, findings = home / "corpus", home / "findings"
    for directory in (corpus, findings):
        directory.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:40]).write_bytes(seed)
    given = sys.argv[1:]
    places = [] if any(not argument.startswith("-") for argument in given) else [str(corpus)]
    atheris.Setup([sys.argv[0], *DEFAULTS, f"-artifact_prefix={findings}/", *given, *places], check)
    atheris.Fuzz()
