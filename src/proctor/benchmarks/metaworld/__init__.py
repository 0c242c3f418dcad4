"""Meta-World: a Sawyer arm at a table, fifty manipulation tasks.

Task ids are upstream's names, such as `reach-v3`. Importing this imports no simulator.
"""

from __future__ import annotations

from typing import Final

from proctor.benchmarks.contract import Family
from proctor.benchmarks.family import SimulatorFamily

FAMILY: Final[Family] = SimulatorFamily(
    name="metaworld",
    environment="proctor.benchmarks.metaworld.environment:MetaworldEnvironment",
    distributions=("metaworld", "mujoco", "gymnasium", "numpy"),
    orientations=("upright", "rotated-90", "rotated-180", "rotated-270", "flipped-vertical"),
)
