"""One episode: the simulator and the policy take turns until the benchmark says that it is over.

    begin(episode, observe) → policy begin → [ observe → act → check → step × n ]* → policy end → record

What will be read is declared before every step: the observation of the next inference, the past that a policy
asks to see, the frames of a video, and nothing else. The rollout knows no dialect, no simulator and no store.
It never raises for a fault of the policy, the benchmark or the machine: the record says whose it was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from proctor.actions.limits import CheckedAction
from proctor.benchmarks.contract import Environment, Episode, Segment
from proctor.benchmarks.spec import find_action
from proctor.benchmarks.starts import check_start, digest_of_start
from proctor.errors import AccessDeniedError, ProctorError
from proctor.evaluation.checks import check_observation, checked_actions
from proctor.evaluation.execution import execution_rule
from proctor.evaluation.faults import error_record, outcome_of
from proctor.evaluation.history import ObservationHistory
from proctor.evaluation.monitor import Monitor, Unwatched
from proctor.evaluation.protocol import RunSettings
from proctor.evaluation.record import EpisodeRecord, Outcome, Phase
from proctor.evaluation.recording import NoRecording, Recording
from proctor.evaluation.success import Goal
from proctor.evaluation.tally import Provenance, Tally
from proctor.policy import EpisodeContext, FeatureValue, Observation
from proctor.policy.seeds import noise_seed, policy_seed
from proctor.policy.spec import PRIVILEGED
from proctor.wire.session import PolicySession

INSTRUCTION = "language.instruction"
SEGMENTS_PASSED = "segments_passed"
"""Metric of episodes with several segments: how many were passed in a row."""

_log = logging.getLogger(__name__)


def run_episode(
    environment: Environment,
    session: PolicySession,
    episode: Episode,
    settings: RunSettings,
    *,
    provenance: Provenance | None = None,
    monitor: Monitor | None = None,
    recording: Recording | None = None,
) -> EpisodeRecord:
    """Run one episode and say what happened.

    Every fault becomes an outcome; only what ends the process (KeyboardInterrupt, SystemExit) passes
    through, after the policy was told that the episode is over. After a `benchmark_error` the environment may
    be in any state: close it. `UsageError` means that `settings` contradict themselves, its
    `AccessDeniedError` that the policy's server refuses the token: nothing is recorded then.
    """
    rollout = _Rollout(
        environment,
        session,
        episode,
        settings,
        provenance or Provenance(),
        monitor or Unwatched(),
        recording or NoRecording(),
    )
    return rollout.run()


class _Rollout:
    """The state of one running episode."""

    def __init__(
        self,
        environment: Environment,
        session: PolicySession,
        episode: Episode,
        settings: RunSettings,
        provenance: Provenance,
        monitor: Monitor,
        recording: Recording,
    ) -> None:
        self.environment, self.session, self.episode = environment, session, episode
        self.settings, self.definition = settings, settings.benchmark
        self.provenance, self.monitor, self.recording = provenance, monitor, recording
        self.action = find_action(self.definition, settings.action_representation)
        self.declared = {feature.name: feature for feature in self.definition.features}
        self.sensed = frozenset(settings.observe) - {INSTRUCTION}
        self.rule = execution_rule(settings.execute_steps, session.description.chunk_owner)
        offsets = session.description.capabilities.observation_offsets
        self.history = ObservationHistory(self.sensed, offsets, self.rule)
        self.policy_seed = policy_seed(settings.run_seed, episode.start, episode.repetition)
        self.tally = Tally()
        self.phase: Phase = "begin"
        self.segment, self.segment_start, self.segment_end = episode.segments[0], 0, 0
        self.is_last_segment = False
        self.goal = Goal(self.definition, start=0, success=False)
        self.latest: Mapping[str, FeatureValue] = {}
        self.policy_began = False

    def run(self) -> EpisodeRecord:
        """Play the episode, end it on every side, and make the record."""
        started = time.perf_counter()
        try:
            self._play()
        except AccessDeniedError:
            raise
        except Exception as error:
            self._blame(error)
        finally:
            played = time.perf_counter()
            self._end_policy(self.tally.outcome)
        self._finish_recording()
        self.tally.episode_s = played - started
        self.tally.teardown_s = time.perf_counter() - played
        privileged = tuple(sorted(name for name in self.sensed if name.startswith(PRIVILEGED)))
        return self.tally.record(self.episode, self.policy_seed, privileged, self.provenance)

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.monitor.enter(phase, self.tally.steps)

    # --- playing -------------------------------------------------------------------------------------

    def _play(self) -> None:
        success = self._begin()
        for number, segment in enumerate(self.episode.segments):
            if number > 0:
                self._enter_segment(number)
            self._begin_segment(number, segment, success=success and number == 0)
            while self._goes_on():
                self._take_turns()
            self._close_segment()
            if self.tally.termination or not self.goal.reached:
                break
        self._conclude()

    def _begin(self) -> bool:
        """Build the start. Returns whether the goal holds already."""
        self._enter("begin")
        asked = self.sensed | self.recording.wanted(0)
        reset = self.environment.begin(self.episode, asked)
        check_observation(reset.observation, asked, self.declared)
        self.tally.start_digest = digest_of_start(reset.initial_state)
        self.tally.start_deviation = check_start(
            reset.initial_state, self.episode, self.definition.initial_state_tolerance
        )
        self.latest = reset.observation
        self.recording.add(0, reset.observation)
        return reset.success

    def _enter_segment(self, number: int) -> None:
        """Turn the environment to the next goal, and look at it anew."""
        self._enter("step")
        observation = self.environment.enter_segment(number, self.sensed)
        check_observation(observation, self.sensed, self.declared)
        self.latest = observation
        self.history.add(self.tally.steps, observation)

    def _begin_segment(self, number: int, segment: Segment, *, success: bool) -> None:
        start = self.tally.steps
        self.segment, self.segment_start, self.segment_end = segment, start, start + segment.horizon
        self.is_last_segment = number == len(self.episode.segments) - 1
        self.goal = Goal(self.definition, start=start, success=success)
        if number == 0 or self.definition.policy_reset == "segment":
            self._begin_policy(number, segment)
            self.history.start(start, self.latest)

    def _begin_policy(self, number: int, segment: Segment) -> None:
        self._end_policy(Outcome.SUCCESS)
        self._enter("policy_reset")
        self.policy_began = True
        whole = sum(segment.horizon for segment in self.episode.segments)
        self.session.begin(
            EpisodeContext(
                episode_id=self.episode.id,
                task_id=self.episode.task,
                metadata={
                    "execute_steps": self.settings.execute_steps,
                    "simulator_seed": self.episode.seed,
                },
                policy_seed=self.policy_seed,
                horizon=segment.horizon if self.definition.policy_reset == "segment" else whole,
                control_hz=self.definition.control_hz,
                instruction=segment.instruction,
                segment=number,
            )
        )

    def _goes_on(self) -> bool:
        """Whether another control step of this segment follows."""
        if self.tally.termination is None and self.monitor.cancelled():
            self.tally.termination = "cancelled"
        done = self.goal.settled or self.tally.steps >= self.segment_end
        return self.tally.termination is None and not done

    def _take_turns(self) -> None:
        """One inference, and the control steps that follow from it."""
        actions = self._ask()
        boundary = min(self.tally.steps + len(actions), self.segment_end)
        for action in actions:
            if not self._goes_on():
                return
            self._step(action, boundary)

    def _ask(self) -> tuple[CheckedAction, ...]:
        self._enter("policy_act")
        observation = self._observation()
        started = time.perf_counter()
        try:
            chunk = self.session.act(observation)
        finally:
            self.tally.act_s.append(time.perf_counter() - started)
        self._enter("check_action")
        return checked_actions(chunk, self.action, self.rule)

    def _observation(self) -> Observation:
        steps, index = self.tally.steps, len(self.tally.act_s)
        features = self.history.at(steps)
        if INSTRUCTION in self.settings.observe:
            features[INSTRUCTION] = self.segment.instruction
        return Observation(
            episode_id=self.episode.id,
            step=steps,
            features=features,
            timestamp_s=steps / self.definition.control_hz,
            inference_index=index,
            seed=noise_seed(self.policy_seed, index),
        )

    def _step(self, action: CheckedAction, boundary: int) -> None:
        self._enter("step")
        observe = self._read_after(self.tally.steps + 1, boundary)
        started = time.perf_counter()
        result = self.environment.step(action.action, observe)
        self.tally.add_step(action, result, time.perf_counter() - started)
        check_observation(result.observation, observe, self.declared)
        self._keep(result.observation)
        self.goal.update(self.tally.steps, result.success)
        if result.terminated:
            finished = self.goal.settled and self.is_last_segment
            self.tally.termination = "success" if finished else "simulator"

    def _read_after(self, step: int, boundary: int) -> frozenset[str]:
        """What will be read of the state after control step number `step`."""
        if self.is_last_segment or self.definition.policy_reset == "segment":
            needed = self.history.needed(step, boundary, self.segment_end)
        else:
            # Any step may end the segment, and the next one's inferences reach back from there.
            needed = self.sensed
        return needed | self.recording.wanted(step)

    def _keep(self, observation: Mapping[str, FeatureValue]) -> None:
        if observation:
            self.latest = observation
            self.history.add(self.tally.steps, observation)
            self.recording.add(self.tally.steps, observation)

    # --- ending --------------------------------------------------------------------------------------

    def _close_segment(self) -> None:
        tally = self.tally
        tally.add_segment(self.segment.instruction, self.goal, tally.steps - self.segment_start)
        if len(self.episode.segments) > 1:
            passed = tally.metrics.get(SEGMENTS_PASSED, 0.0)
            tally.metrics[SEGMENTS_PASSED] = passed + self.goal.reached

    def _conclude(self) -> None:
        tally = self.tally
        if tally.termination is None:
            tally.termination = "success" if self.goal.settled else "horizon"
        if tally.termination != "cancelled":
            complete = len(tally.segments) == len(self.episode.segments)
            tally.outcome = Outcome.SUCCESS if complete and self.goal.reached else Outcome.FAILURE

    def _blame(self, error: Exception) -> None:
        tally = self.tally
        tally.outcome = outcome_of(error, self.phase)
        tally.termination = "policy_error" if tally.outcome is Outcome.POLICY_ERROR else "error"
        tally.error = error_record(error, self.phase, step=tally.steps, log=self.provenance.log)
        if self.phase != "begin" and len(tally.segments) < len(self.episode.segments):
            self._close_segment()
        # A policy's own traceback is in the policy server's log.
        trace = None if tally.outcome is Outcome.POLICY_ERROR else error
        _log.warning(
            "episode %s: %s in %s: %s",
            self.episode.id,
            tally.outcome.value,
            self.phase,
            error,
            exc_info=trace,
        )

    def _end_policy(self, outcome: Outcome) -> None:
        if not self.policy_began:
            return
        self.policy_began = False
        self._enter("teardown")
        try:
            self.session.end(self.episode.id, outcome.value)
        except ProctorError as error:
            # The episode is over and its result stands; the next begin() finds out what is left.
            _log.warning("episode %s: ending it at the policy: %s", self.episode.id, error)
            self.tally.add_event(f"policy end: {type(error).__name__}")

    def _finish_recording(self) -> None:
        self._enter("record")
        self.tally.video = self.recording.finish(self.tally.outcome)
        if self.recording.problem is not None:
            self.tally.add_event(f"video: {self.recording.problem}")
