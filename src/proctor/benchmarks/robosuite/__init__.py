"""robosuite 1.5: one Panda or two, with operational-space control, at tables, bins, pegs and a door.

The assets come with the simulator's package. Importing this imports no simulator.
"""

from __future__ import annotations

from typing import Final

from proctor.benchmarks.contract import Family
from proctor.benchmarks.family import SimulatorFamily

FAMILY: Final[Family] = SimulatorFamily(
    name="robosuite",
    environment="proctor.benchmarks.robosuite.environment:RobosuiteEnvironment",
    distributions=("robosuite", "mujoco", "numpy"),
    orientations=("flipped-vertical", "rotated-180"),
)
