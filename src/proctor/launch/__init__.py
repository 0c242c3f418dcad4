"""Where processes run: simulator environments, supervision, and one evaluation on this machine.

Names are loaded on first use: choosing a graphics backend must work before anything is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.launch.request import EvaluationRequest, evaluate

__all__ = ["EvaluationRequest", "evaluate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'proctor.launch' has no attribute {name!r}")
    return getattr(import_module("proctor.launch.request"), name)
