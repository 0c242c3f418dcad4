"""Robots as data: where their joints are, about what they turn, and how far."""
