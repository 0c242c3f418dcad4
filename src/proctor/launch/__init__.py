"""Where processes run: simulator environments, supervision, and one evaluation on this machine.

Names are loaded on first use: choosing a graphics backend must work before anything is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.launch.evaluation import evaluate
    from proctor.launch.request import EvaluationRequest

__all__ = ["EvaluationRequest", "evaluate"]

_HOMES = {"EvaluationRequest": "proctor.launch.request", "evaluate": "proctor.launch.evaluation"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'proctor.launch' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
