"""Things found by name: those that come with proctor, and those of installed packages (entry points).

None is imported before it is asked for. A name that is taken is ignored with a warning, and a plugin that
does not load is the error of whoever asks for it, not of the run.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from proctor.errors import BenchmarkFault, ProctorError, UnknownNameError

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plugins:
    """One kind of thing."""

    what: str
    """Its kind, as messages say it."""
    group: str
    """Entry point group."""
    built_in: Mapping[str, str]
    """Name to `module:object`."""
    fault: type[ProctorError] = BenchmarkFault
    """Raised for a plugin that does not load."""

    def names(self) -> list[str]:
        """Every name that can be found, sorted. Loads none."""
        return sorted({*self.built_in, *self._installed()})

    def load(self, name: str) -> Any:
        """Import the thing with this name. Raises `UnknownNameError` naming the nearest, or `fault`."""
        if name in self.built_in:
            module, _, attribute = self.built_in[name].partition(":")
            return getattr(importlib.import_module(module), attribute)
        installed = self._installed()
        if name not in installed:
            raise UnknownNameError(self.what, name, {*self.built_in, *installed})
        try:
            return installed[name].load()
        except Exception as error:  # a plugin may fail in any way it likes
            origin = installed[name].value
            raise self.fault(f"{self.what} {name!r} ({origin}) cannot be loaded: {error!r}") from error

    def _installed(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            if point.name in found or point.name in self.built_in:
                _log.warning("%s %r of %s is ignored: the name is taken", self.what, point.name, point.value)
                continue
            found[point.name] = point
        return found
