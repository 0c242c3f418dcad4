"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# The same cases every time, however busy the machine: a failure is a change, never luck.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
