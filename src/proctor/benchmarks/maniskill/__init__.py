"""ManiSkill 3: a Panda at a table, on SAPIEN's CPU physics.

Only tasks whose assets come with the simulator's package. It renders through Vulkan: `proctor env check
maniskill` says what a machine lacks. Importing this imports no simulator.
"""

from __future__ import annotations

from typing import Final

from proctor.benchmarks.contract import Family
from proctor.benchmarks.family import SimulatorFamily

FAMILY: Final[Family] = SimulatorFamily(
    name="maniskill",
    environment="proctor.benchmarks.maniskill.environment:ManiSkillEnvironment",
    distributions=("mani-skill", "sapien", "torch", "numpy"),
)
