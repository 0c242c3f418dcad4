"""The simulator lane of a worker: one environment at a time, for one task."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from proctor.benchmarks.contract import Environment
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition
from proctor.benchmarks.family import installed_versions
from proctor.benchmarks.registry import find_family
from proctor.errors import BenchmarkFault
from proctor.evaluation.monitor import Monitor
from proctor.evaluation.platform import renderer

_log = logging.getLogger(__name__)


class Lane:
    """Makes the environment that a task needs, after closing the one of another task."""

    def __init__(
        self,
        definition: BenchmarkDefinition,
        action: ActionDefinition,
        monitor: Monitor,
        announce: Callable[[], object] = lambda: None,
    ) -> None:
        """`announce` is called before an environment is made: its code may let no other thread run."""
        self._definition, self._action, self._monitor = definition, action, monitor
        self._announce = announce
        self._family = find_family(definition.family)
        self._environment: Environment | None = None
        self.task: str | None = None
        """The task that there is an environment for."""

    def packages(self) -> Mapping[str, str]:
        """Installed versions of the family's packages, and of those that the benchmark names."""
        return {**self._family.packages(), **installed_versions(self._definition.packages)}

    def renderer(self) -> str:
        """What draws its frames, as `proctor.evaluation.platform` names it."""
        return renderer(self._environment)

    def prepare(self, task: str) -> tuple[Environment, float]:
        """The environment for `task`, and the seconds that making it took; 0 if it was there already.

        Raises what the family raises, and `BenchmarkFault` for a task the benchmark does not have.
        """
        if self._environment is not None and self.task == task:
            return self._environment, 0.0
        self.drop()
        definition = next((t for t in self._definition.tasks if t.id == task), None)
        if definition is None:
            raise BenchmarkFault(f"{self._definition.id} has no task {task!r}")
        self._monitor.enter("boot", 0)
        self._announce()
        started = time.perf_counter()
        self._environment = self._family.open(self._definition, definition, self._action)
        self.task = task
        return self._environment, time.perf_counter() - started

    def drop(self) -> None:
        """Close the environment, whatever state it is in. The next one is made new."""
        environment, self._environment, self.task = self._environment, None, None
        if environment is None:
            return
        self._monitor.enter("teardown", 0)
        try:
            environment.close()
        except Exception:
            _log.exception("the environment could not be closed")
