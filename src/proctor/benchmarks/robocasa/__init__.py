"""RoboCasa: the GR1 tabletop tasks, and RoboCasa365's kitchens.

Two simulators of one kind, each a source checkout with assets of its own: `proctor env check robocasa-gr1`
and `proctor env check robocasa365` say what a machine lacks. Importing this imports no simulator.
"""

from __future__ import annotations

from typing import Final

from proctor.benchmarks.contract import Family
from proctor.benchmarks.family import SimulatorFamily

FAMILY: Final[Family] = SimulatorFamily(
    name="robocasa",
    environment="proctor.benchmarks.robocasa.environment:RoboCasaEnvironment",
    distributions=("robosuite", "mujoco", "numpy"),
    orientations=("flipped-vertical",),
)
