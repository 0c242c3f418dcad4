"""Revisions applied once no old code runs."""
