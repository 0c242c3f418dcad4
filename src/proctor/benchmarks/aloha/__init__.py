"""gym-aloha: two ViperX arms at a table, a cube to hand over or a peg to insert.

One lane per process: the simulator keeps object poses in a module global. `task.settings["scene"]` names the
scene, `transfer_cube` or `insertion`. Importing this imports no simulator.
"""

from __future__ import annotations

from typing import Final

from proctor.benchmarks.contract import Family
from proctor.benchmarks.family import SimulatorFamily

FAMILY: Final[Family] = SimulatorFamily(
    name="aloha",
    environment="proctor.benchmarks.aloha.environment:AlohaEnvironment",
    distributions=("gym-aloha", "mujoco", "dm-control"),
)
