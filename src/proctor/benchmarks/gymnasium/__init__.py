"""Any environment that has Gymnasium's methods: a registered id, or a class of one's own in a file.

What a lane does is declared in the version's settings, see `proctor.benchmarks.gymnasium.settings`; the
short file that people write is read by `proctor.benchmarks.gymnasium.own`. gymnasium itself is imported when
an id is opened, and never for a class in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proctor.benchmarks.contract import Environment, Family
from proctor.benchmarks.definition import (
    ActionDefinition,
    BenchmarkDefinition,
    RenderProfile,
    TaskDefinition,
)
from proctor.benchmarks.family import (
    installed_versions,
    refuse_orientations,
    refuse_other_pictures,
    refuse_other_versions,
    refuse_settling,
)

ORIENTATIONS: Final = ("upright", "rotated-180", "flipped-vertical")

REFERENCE: Final = RenderProfile("reference", shadows=True, multisamples=0)
"""What is written of pictures that the environment makes by itself, whatever they are."""


class GymnasiumFamily:
    """Makes lanes from what the definition says."""

    name = "gymnasium"

    def open(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> Environment:
        """Make a lane for one task.

        Raises `EnvironmentMissing` naming a package that is missing or has another version than the
        definition's, `BenchmarkFault` for an environment that is not as declared.
        """
        from proctor.benchmarks.gymnasium.environment import GymnasiumEnvironment

        refuse_settling(self.name, definition)
        refuse_orientations(self.name, definition, ORIENTATIONS)
        refuse_other_pictures(definition, REFERENCE)
        refuse_other_versions(definition)
        return GymnasiumEnvironment(definition, task, action)

    def packages(self) -> Mapping[str, str]:
        """Versions of gymnasium and numpy, where they are installed. A definition names what else counts."""
        return installed_versions(("gymnasium", "numpy"))


FAMILY: Final[Family] = GymnasiumFamily()
