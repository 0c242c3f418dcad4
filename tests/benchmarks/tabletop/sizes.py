"""A thing of every kind, for tests of measures and for the probe, which builds them."""

from __future__ import annotations

from proctor.benchmarks.tabletop.things import Kind

SIZES: dict[Kind, tuple[float, ...]] = {
    "box": (0.03, 0.02, 0.01),
    "cylinder": (0.03, 0.04),
    "plate": (0.03, 0.008),
    "ball": (0.02,),
    "bottle": (0.026, 0.11, 0.012, 0.05),
    "ring": (0.028, 0.008),
    "vessel": (0.028, 0.10, 0.004),
    "tray": (0.08, 0.06, 0.025, 0.005),
    "bin": (0.08, 0.06, 0.025, 0.005),
    "zone": (0.05,),
    "drawer": (0.09, 0.10, 0.11, 0.14),
    "knob": (0.03, 0.05, 0.03),
    "lever": (0.13, 0.6),
    "button": (0.025, 0.03, 0.012),
    "socket": (0.0175, 0.045, 0.02),
    "post": (0.008, 0.07, 0.035),
}
