"""Takes an upstream environment back to what it was when it was made.

Upstream's reset keeps parts of the past: it moves bodies and sites of the model, simulates the hand into
place from wherever the last episode left it, and remembers positions. A new environment has no past,
but costs a model and a render context. Restoring every array of the model and of the simulation, and every
attribute, gives the same state in a millisecond; the tests compare it with new environments, bit by bit.
"""

from __future__ import annotations

import copy
from typing import Any, Final

import mujoco
import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

_NEVER_WRITTEN: Final = ("bvh_", "mesh_", "tex_", "hfield_", "skin_", "flex_", "name")
"""Prefixes of model arrays that hold geometry and names: megabytes that no task changes."""

_LEFT_ALONE: Final = frozenset({"model", "data", "mujoco_renderer", "observation_space", "action_space"})


class Pristine:
    """The state of one upstream environment at the moment this was made."""

    def __init__(self, upstream: Any) -> None:
        self._upstream = upstream
        self._model = _copies(_arrays(upstream.model, skip=_NEVER_WRITTEN))
        self._data = _copies(_arrays(upstream.data))
        self._time = float(upstream.data.time)
        self._attributes = {k: _copied(v) for k, v in vars(upstream).items() if k not in _LEFT_ALONE}

    def restore(self) -> None:
        """Put everything back, in place: upstream keeps views into the simulation's memory."""
        model, data = self._upstream.model, self._upstream.data
        mujoco.mj_resetData(model, data)
        _write(self._model, _arrays(model, skip=_NEVER_WRITTEN))
        _write(self._data, _arrays(data))
        data.time = self._time
        attributes = vars(self._upstream)
        for name in attributes.keys() - self._attributes.keys() - _LEFT_ALONE:
            del attributes[name]
        attributes.update({name: _copied(value) for name, value in self._attributes.items()})


def _arrays(source: Any, skip: tuple[str, ...] = ()) -> Arrays:
    names = (name for name in dir(source) if not name.startswith(("_", *skip)))
    found = ((name, getattr(source, name)) for name in names)
    return {name: value for name, value in found if isinstance(value, np.ndarray)}


def _copies(arrays: Arrays) -> Arrays:
    return {name: array.copy() for name, array in arrays.items()}


def _write(saved: Arrays, live: Arrays) -> None:
    for name, array in live.items():
        if (
            array.shape == saved[name].shape
        ):  # arrays of contacts and constraints come and go; steps remake them
            np.copyto(array, saved[name])


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value if _is_view_of_simulation(value) else value.copy()
    return copy.deepcopy(value) if isinstance(value, dict | list) else value


def _is_view_of_simulation(array: NDArray[Any]) -> bool:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return not array.flags.owndata
