"""Revisions applied before new code runs."""
