"""One LIBERO lane: an official start, settled as upstream does, and frames made when they are asked for."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from proctor.benchmarks.contract import Episode, Reset
from proctor.benchmarks.definition import ActionDefinition, BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.family import refuse_predicates
from proctor.benchmarks.libero import resources
from proctor.benchmarks.libero.lane import Lane
from proctor.benchmarks.libero.settings import episode_settings_of, settings_of, task_settings_of
from proctor.benchmarks.libero.upstream import Upstream
from proctor.errors import BenchmarkFault


class LiberoEnvironment(Lane):
    """One lane. See `Lane`."""

    def __init__(
        self, definition: BenchmarkDefinition, task: TaskDefinition, action: ActionDefinition
    ) -> None:
        """Raises, beside what `Lane` does, `BenchmarkFault` for a task whose files are missing or say another
        sentence."""
        super().__init__(definition, action)
        self._settings, task_settings = settings_of(definition), task_settings_of(task)
        resources.require(task_settings)
        _refuse_other_instruction(task, resources.instruction(task_settings, self._settings.instructions))
        self._states = resources.official_states(task_settings)
        self._interest = resources.objects_of_interest(task_settings)
        scene = resources.scene_file(task_settings)
        self._enter(Upstream(resources.problem(task_settings), scene, self._sample))

    def begin(self, episode: Episode, observe: Collection[str]) -> Reset:
        """Build the start that upstream has under `episode.index`, and let it settle: see `Lane`.

        Raises `BenchmarkFault` for an index that upstream has no start for.
        """
        refuse_predicates(episode)
        draws = episode_settings_of(episode).resets_since_seed
        state = resources.official_state(self._states, episode.index, episode.id)
        reset = self._start(episode, state, draws, observe)
        counts = self._settings.success_while_settling == "counts"
        return replace(reset, success=reset.success and counts)


def _refuse_other_instruction(task: TaskDefinition, instruction: str) -> None:
    if task.instruction != instruction:
        raise BenchmarkFault(
            f"task {task.id}: the version says {task.instruction!r}, the simulator's files {instruction!r}"
        )
