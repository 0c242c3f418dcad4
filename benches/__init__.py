"""Measurements. A package only for the type checker: `queue.py` must not pass for the standard module."""
