"""What accumulates while an episode runs, and the record made of it."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from proctor import limits
from proctor.actions.limits import CheckedAction
from proctor.benchmarks.contract import Episode, StepResult
from proctor.evaluation.latency import summarise
from proctor.evaluation.record import EpisodeRecord, ErrorRecord, Outcome, SegmentRecord, Termination
from proctor.evaluation.success import Goal

OTHER_EVENTS = "(other events)"


@dataclass(frozen=True)
class Provenance:
    """Where an episode ran: no part of the science."""

    worker: str = ""
    policy_replica: str = ""
    boot_s: float = 0.0
    """Seconds spent making the simulator lane for this episode; 0 when an earlier one made it."""
    log: str | None = None
    """Path, relative to the run directory, of the log that tells more about errors."""


@dataclass
class Tally:
    """One episode so far."""

    steps: int = 0
    act_s: list[float] = field(default_factory=list)
    step_s: list[float] = field(default_factory=list)
    clipped: int = 0
    out_of_limits: int = 0
    actions: hashlib._Hash = field(default_factory=hashlib.sha256)
    """Over the actions as they were applied."""
    segments: list[SegmentRecord] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    metrics: dict[str, float] = field(default_factory=dict)
    start_digest: str = ""
    start_deviation: float | None = None
    termination: Termination | None = None
    outcome: Outcome = Outcome.CANCELLED
    error: ErrorRecord | None = None
    video: str | None = None
    episode_s: float = 0.0
    teardown_s: float = 0.0

    def add_step(self, action: CheckedAction, result: StepResult, seconds: float) -> None:
        """Take in one control step."""
        self.steps += 1
        self.step_s.append(seconds)
        self.actions.update(action.action.tobytes())
        self.clipped += action.clipped > 0
        self.out_of_limits += action.out_of_limits > 0
        for event in result.events:
            self.add_event(event)
        if result.metrics:
            self._add_metrics(result.metrics)

    def add_event(self, event: str) -> None:
        """Count one event; kinds beyond `limits.MAX_EVENT_KINDS` are counted together."""
        event = event[: limits.MAX_EVENT_TEXT]
        known = event in self.events or len(self.events) < limits.MAX_EVENT_KINDS
        self.events[event if known else OTHER_EVENTS] += 1

    def _add_metrics(self, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            if math.isfinite(value):
                self.metrics[name] = float(value)
            else:
                self.metrics.pop(name, None)
                self.add_event(f"metric {name} is not finite")

    def add_segment(self, instruction: str, goal: Goal, steps: int) -> None:
        """Close one segment."""
        self.segments.append(
            SegmentRecord(
                instruction=instruction,
                steps=steps,
                success_once=goal.once,
                success_at_end=goal.at_end,
                success_held=goal.held,
                first_success_step=goal.first_step,
            )
        )

    def record(
        self, episode: Episode, policy_seed: int, privileged: tuple[str, ...], provenance: Provenance
    ) -> EpisodeRecord:
        """Make the record. An episode of several segments succeeds if every one of them does."""
        complete = len(self.segments) == len(episode.segments)
        instruction = " / ".join(segment.instruction for segment in episode.segments)
        return EpisodeRecord(
            episode_id=episode.id,
            task=episode.task,
            index=episode.index,
            repetition=episode.repetition,
            seed=episode.seed,
            policy_seed=policy_seed,
            outcome=self.outcome,
            steps=self.steps,
            success_once=complete and all(segment.success_once for segment in self.segments),
            success_at_end=complete and all(segment.success_at_end for segment in self.segments),
            success_held=complete and all(segment.success_held for segment in self.segments),
            first_success_step=self.segments[-1].first_success_step if complete else None,
            termination=self.termination or "cancelled",
            instruction=instruction,
            instruction_sha256=hashlib.sha256(instruction.encode()).hexdigest(),
            initial_state_digest=self.start_digest,
            initial_state_deviation=self.start_deviation,
            segments=tuple(self.segments),
            inferences=len(self.act_s),
            actions_clipped=self.clipped,
            actions_out_of_limits=self.out_of_limits,
            actions_sha256=self.actions.hexdigest(),
            privileged_features=privileged,
            metrics=self.metrics,
            events=dict(self.events),
            error=self.error,
            worker=provenance.worker,
            policy_replica=provenance.policy_replica,
            act_ms=summarise(self.act_s),
            step_ms=summarise(self.step_s),
            boot_s=provenance.boot_s,
            episode_s=self.episode_s,
            teardown_s=self.teardown_s,
            video=self.video,
            finished_at=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        )
