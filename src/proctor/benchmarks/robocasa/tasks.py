"""The 24 tabletop tasks of GR1, by upstream's names."""

from __future__ import annotations

from typing import Final

HORIZON: Final = 720
"""Control steps, as upstream's own evaluation allows."""

_CLOSED: Final = {
    "Bottle": "Cabinet",
    "Can": "Drawer",
    "Cup": "Drawer",
    "Milk": "Microwave",
    "Potato": "Microwave",
    "Wine": "Cabinet",
}
_NOVEL: Final = {
    "Cuttingboard": ("Basket", "Cardboardbox", "Pan", "Pot", "Tieredbasket"),
    "Placemat": ("Basket", "Bowl", "Plate", "Tieredshelf"),
    "Plate": ("Bowl", "Cardboardbox", "Pan", "Plate"),
    "Tray": ("Cardboardbox", "Plate", "Pot", "Tieredbasket", "Tieredshelf"),
}

GR1_TASKS: Final = (
    *(f"PnP{thing}To{place}Close" for thing, place in _CLOSED.items()),
    *(
        f"PosttrainPnPNovelFrom{source}To{target}SplitA"
        for source, targets in _NOVEL.items()
        for target in targets
    ),
)
"""Six that put something away and close the door, and eighteen from one thing into another."""


def gr1_environment(name: str) -> str:
    """The id under which Gymnasium makes a task."""
    return f"gr1_unified/{name}_GR1ArmsAndWaistFourierHands_Env"
