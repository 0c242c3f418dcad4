"""Rewrites the golden files from the runs and episodes beside them."""

from __future__ import annotations

from pathlib import Path

from proctor.results.results import write_results
from proctor.results.results_file import read_episodes, read_results_file

for directory in sorted((Path(__file__).parent / "data" / "golden").iterdir()):
    write_results(directory, read_results_file(directory).run, read_episodes(directory))
