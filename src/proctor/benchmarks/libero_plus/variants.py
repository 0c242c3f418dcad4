"""What the name of a variant says: LIBERO-plus keeps every perturbation in it.

light_8                              another light
table_5, tb_6                        other surfaces
add_9, level5_sample4                more things, or things elsewhere; _moved_ may stand before
language_50_view_0_0_100_0_0_initstate_0    another sentence
view_359_15_100_0_0_initstate_0      a camera: degrees about the table, degrees up, distance in percent,
                                     and two degrees of its own
view_0_0_100_0_0_initstate_12        a robot that starts elsewhere
view_0_0_100_0_0_initstate_0_noise_38       noise on the picture of the scene
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from proctor.errors import BenchmarkFault

Dimension = Literal["camera", "robot", "language", "light", "background", "noise", "layout"]
DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)

_LOOK: Final = re.compile(
    r"(?P<scene>.*?)_?view_(?P<about>\d+)_(?P<up>\d+)_(?P<percent>\d+)_(?P<turn>\d+)_(?P<tilt>\d+)"
    r"_initstate_(?P<robot>\d+)(_noise_(?P<noise>\d+))?"
)
_SCENES: Final[tuple[tuple[re.Pattern[str], Dimension], ...]] = (
    (re.compile(r"language_\d+"), "language"),
    (re.compile(r"light_\d+"), "light"),
    (re.compile(r"(table|tb)_\d+"), "background"),
    (re.compile(r"(moved_)?(add_\d+|level\d+_sample\d+)"), "layout"),
)


@dataclass(frozen=True)
class Look:
    """What the name says of camera, robot and picture; the words of upstream, which reads them as text."""

    horizon_view: str = "0"
    vertical_view: str = "0"
    scale_factor: float = 1.0
    end_point_rot: str = "0"
    end_point_vertical: str = "0"
    init_state: str = "0"
    """Number of the robot that starts elsewhere; 0: the one of LIBERO."""
    noise: int = 0
    """1 to 50; 0: none."""

    @property
    def robot(self) -> str:
        """Upstream's name of the robot, before it is mounted."""
        return "Panda" if int(self.init_state) == 0 else f"Panda{self.init_state}"


@dataclass(frozen=True)
class Variant:
    """One perturbation of one task."""

    name: str
    """As it stands in upstream's name, behind the task's."""
    scene: str
    """What of it names another scene; empty: the task's own."""
    look: Look
    dimension: Dimension

    @property
    def has_own_start(self) -> bool:
        """Whether it starts from a file of its own, which holds one; else from the task's first."""
        return self.dimension == "layout"


def parse_variant(name: str) -> Variant:
    """Read a variant's name. Raises `BenchmarkFault` for one that says nothing known."""
    found = _LOOK.fullmatch(name)
    scene, look = (found["scene"], _look(found)) if found else (name, Look())
    return Variant(name, scene, look, _dimension(name, scene, look))


def _look(found: re.Match[str]) -> Look:
    return Look(
        found["about"],
        found["up"],
        int(found["percent"]) / 100,
        found["turn"],
        found["tilt"],
        found["robot"],
        int(found["noise"] or 0),
    )


def _dimension(name: str, scene: str, look: Look) -> Dimension:
    if not scene and name:
        return "noise" if look.noise else "robot" if int(look.init_state) else "camera"
    for pattern, dimension in _SCENES:
        if pattern.fullmatch(scene):
            return dimension
    raise BenchmarkFault(
        f"variant {name!r} says nothing known; valid: language_N, light_N, table_N, tb_N, add_N, "
        "levelN_sampleN, view_N_N_N_N_N_initstate_N"
    )
