"""One package per dialect, and what the rollout may ask of a policy whatever the wire (`session.py`)."""
