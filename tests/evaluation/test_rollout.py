from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import numpy as np
import pytest

from proctor.errors import (
    BenchmarkFault,
    DeadlineError,
    InvalidActionError,
    PolicyGoneError,
    ProtocolError,
    UnknownNameError,
)
from proctor.evaluation.record import EpisodeRecord, Outcome
from proctor.evaluation.rollout import run_episode
from proctor.evaluation.tally import Provenance
from proctor.policy import ActionChunk, Observation
from proctor.policy.seeds import noise_seed, policy_seed
from proctor.testing.toy import FAMILY
from proctor.testing.toy_policies import ExpertPolicy, FaultyPolicy
from proctor.testing.toy_versions import toy_definition, toy_episodes


def run(fakes: Any, environment: Any, session: Any, episode: Any = None, **changes: Any) -> EpisodeRecord:
    """One episode of 12 steps, unless another is given; `changes` are those of the benchmark."""
    settings = {key: changes.pop(key) for key in ("execute_steps", "observe") if key in changes}
    definition = toy_definition(**changes)
    return run_episode(
        environment, session, episode or fakes.episode(12), fakes.settings(definition, **settings)
    )


# --- turns ---------------------------------------------------------------------------------------------


def test_the_policy_is_told_the_conditions_before_it_is_asked(fakes: Any) -> None:
    session = fakes.Session(fakes.still(4))
    run(fakes, fakes.Environment(), session, execute_steps="fixed:4")
    (context,) = session.begun
    assert (context.episode_id, context.task_id, context.segment) == ("reach/3/1", "reach", 0)
    assert (context.horizon, context.control_hz, context.instruction) == (12, 10.0, "part 0")
    assert context.policy_seed == policy_seed(0, "reach/3", 1)
    assert context.metadata["execute_steps"] == "fixed:4"
    assert context.metadata["simulator_seed"] == fakes.episode(12).seed


def test_every_inference_has_its_step_its_index_its_seed_and_its_time(fakes: Any) -> None:
    session = fakes.Session(fakes.still(4))
    run(fakes, fakes.Environment(), session, execute_steps="fixed:4")
    seed = policy_seed(0, "reach/3", 1)
    assert [(o.step, o.inference_index, o.timestamp_s) for o in session.seen] == [
        (0, 0, 0.0),
        (4, 1, 0.4),
        (8, 2, 0.8),
    ]
    assert [o.seed for o in session.seen] == [noise_seed(seed, index) for index in range(3)]


def test_only_the_last_step_of_a_chunk_is_observed_and_none_after_the_horizon(fakes: Any) -> None:
    environment = fakes.Environment()
    run(fakes, environment, fakes.Session(fakes.still(4)), execute_steps="fixed:4")
    assert environment.observed("state.proprioception") == [0, 4, 8]
    assert len(environment.asked) == 13


def test_the_policy_sees_exactly_what_it_is_to_see_and_the_instruction_of_the_manifest(fakes: Any) -> None:
    session = fakes.Session(fakes.still())
    environment = fakes.Environment()
    run(fakes, environment, session, observe=("privileged.goal", "language.instruction"))
    assert all(set(o.features) == {"privileged.goal", "language.instruction"} for o in session.seen)
    assert session.seen[0].features["language.instruction"] == "part 0"
    assert environment.asked[0][1] == {"privileged.goal"}


def test_a_policy_that_does_not_want_the_instruction_is_not_given_it(fakes: Any) -> None:
    session = fakes.Session(fakes.still())
    run(fakes, fakes.Environment(), session, observe=("state.proprioception",))
    assert set(session.seen[0].features) == {"state.proprioception"}


def test_the_observation_is_that_of_the_step_it_names(fakes: Any) -> None:
    session = fakes.Session(fakes.still(5))
    run(fakes, fakes.Environment(), session)
    assert [int(o.features["state.proprioception"][0]) for o in session.seen] == [
        o.step for o in session.seen
    ]


def test_actions_are_applied_in_order_and_the_rest_of_the_last_chunk_is_dropped(fakes: Any) -> None:
    def count_up(observation: Observation) -> ActionChunk:
        return ActionChunk(np.array([[(observation.step + i) / 100, 0] for i in range(5)], np.float32))

    environment = fakes.Environment()
    record = run(fakes, environment, fakes.Session(count_up))
    assert [round(float(a[0]) * 100) for a in environment.applied] == list(range(12))
    assert (record.steps, record.inferences) == (12, 3)


def test_a_chunk_that_the_server_owns_is_applied_whole(fakes: Any) -> None:
    session = fakes.Session(fakes.still(6), chunk_owner="server")
    assert run(fakes, fakes.Environment(), session, execute_steps="fixed:3").inferences == 2


# --- history -------------------------------------------------------------------------------------------


def test_declared_history_arrives_stacked_and_costs_only_the_steps_it_needs(fakes: Any) -> None:
    session = fakes.Session(fakes.still(4), offsets={"state.proprioception": (-6, 0)})
    environment = fakes.Environment()
    run(fakes, environment, session, execute_steps="fixed:4")
    seen = [o.features["state.proprioception"] for o in session.seen]
    assert [value.shape for value in seen] == [(2, 4)] * 3
    assert [value[:, 0].tolist() for value in seen] == [[0, 0], [0, 4], [2, 8]]
    assert environment.observed("state.proprioception") == [0, 2, 4, 8]


# --- success -------------------------------------------------------------------------------------------


def test_the_first_success_ends_the_episode_where_the_benchmark_says_so(fakes: Any) -> None:
    record = run(fakes, fakes.Environment(success={5}), fakes.Session(fakes.still(4)))
    assert (record.outcome, record.termination, record.steps) == (Outcome.SUCCESS, "success", 5)
    assert (record.success_once, record.success_at_end, record.first_success_step) == (True, True, 5)


def test_without_stopping_all_three_meanings_are_recorded_and_the_declared_one_decides(fakes: Any) -> None:
    pattern = {2, 5, 6, 7}
    outcomes = {}
    for meaning in ("once", "at_end", "held"):
        record = run(
            fakes,
            fakes.Environment(success=pattern),
            fakes.Session(fakes.still(4)),
            success=meaning,
            stop_on_success=False,
        )
        outcomes[meaning] = record.outcome
        assert (record.success_once, record.success_at_end, record.success_held) == (True, False, True)
        assert (record.first_success_step, record.steps, record.termination) == (2, 12, "horizon")
    assert outcomes == {"once": Outcome.SUCCESS, "at_end": Outcome.FAILURE, "held": Outcome.SUCCESS}


def test_held_success_ends_the_episode_once_it_was_held(fakes: Any) -> None:
    record = run(
        fakes, fakes.Environment(success={2, 4, 5, 6, 7}), fakes.Session(fakes.still()), success="held"
    )
    assert (record.steps, record.termination, record.first_success_step) == (6, "success", 2)


def test_a_goal_that_holds_at_the_start_is_a_success_of_no_steps(fakes: Any) -> None:
    session = fakes.Session(fakes.still())
    record = run(fakes, fakes.Environment(success={0}), session)
    assert (record.outcome, record.steps, record.first_success_step) == (Outcome.SUCCESS, 0, 0)
    assert (record.inferences, record.act_ms, record.step_ms) == (0, None, None)
    assert session.ended == [("reach/3/1", "success")]


def test_the_horizon_ends_a_failure(fakes: Any) -> None:
    record = run(fakes, fakes.Environment(), fakes.Session(fakes.still()))
    assert (record.outcome, record.termination, record.steps) == (Outcome.FAILURE, "horizon", 12)


def test_a_simulator_that_ends_the_episode_is_believed(fakes: Any) -> None:
    record = run(fakes, fakes.Environment(terminates=3), fakes.Session(fakes.still(5)))
    assert (record.outcome, record.termination, record.steps) == (Outcome.FAILURE, "simulator", 3)


def test_a_success_at_the_step_that_ends_the_simulation_is_a_success(fakes: Any) -> None:
    record = run(fakes, fakes.Environment(terminates=3, success={3}), fakes.Session(fakes.still(5)))
    assert (record.outcome, record.termination) == (Outcome.SUCCESS, "success")


# --- segments ------------------------------------------------------------------------------------------


def test_segments_follow_each_other_at_their_successes_with_fresh_observations(fakes: Any) -> None:
    session = fakes.Session(fakes.still(4))
    record = run(fakes, fakes.Environment(success={3, 8}), session, fakes.episode(6, 6))
    assert (record.outcome, record.steps) == (Outcome.SUCCESS, 8)
    assert [(s.instruction, s.steps, s.first_success_step) for s in record.segments] == [
        ("part 0", 3, 3),
        ("part 1", 5, 8),
    ]
    assert [(c.segment, c.instruction, c.horizon) for c in session.begun] == [
        (0, "part 0", 6),
        (1, "part 1", 6),
    ]
    assert session.ended == [("reach/3/1", "success"), ("reach/3/1", "success")]
    assert [(o.step, o.features["language.instruction"]) for o in session.seen] == [
        (0, "part 0"),
        (3, "part 1"),
        (7, "part 1"),
    ]
    assert int(session.seen[1].features["state.proprioception"][0]) == 3
    assert record.metrics["segments_passed"] == 2


@pytest.mark.parametrize(
    ("success", "entered"), [("once", [(1, 2)]), ("held", [(1, 4)]), ("at_end", [(1, 6)])]
)
def test_the_environment_is_told_when_a_segment_has_ended_as_declared(
    fakes: Any, success: str, entered: list[tuple[int, int]]
) -> None:
    environment = fakes.Environment(success={2, 3, 4, 5, 6})
    run(fakes, environment, fakes.Session(fakes.still()), fakes.episode(6, 6), success=success, held_steps=3)
    assert environment.entered == entered


def test_no_segment_is_entered_after_one_that_failed(fakes: Any) -> None:
    environment = fakes.Environment()
    run(fakes, environment, fakes.Session(fakes.still()), fakes.episode(6, 6))
    assert environment.entered == []


def test_a_segment_begins_with_a_look_at_its_own_goal(fakes: Any) -> None:
    environment, session = fakes.Environment(success={3}), fakes.Session(fakes.still(4))
    enter = environment.enter_segment

    def enter_segment(number: int, observe: Any) -> Any:
        return {name: value + 100 for name, value in enter(number, observe).items()}

    environment.enter_segment = enter_segment
    run(fakes, environment, session, fakes.episode(6, 6))
    assert int(session.seen[1].features["state.proprioception"][0]) == 103


def test_nothing_is_looked_at_within_a_chunk_of_a_segment_that_may_end(fakes: Any) -> None:
    environment = fakes.Environment(success={3})
    run(fakes, environment, fakes.Session(fakes.still(4)), fakes.episode(6, 6))
    assert environment.observed("state.proprioception")[:2] == [0, 3]


def test_a_policy_reset_once_keeps_its_past_across_segments(fakes: Any) -> None:
    session = fakes.Session(fakes.still(2), offsets={"state.proprioception": (-2, 0)})
    run(fakes, fakes.Environment(success={3}), session, fakes.episode(6, 6), policy_reset="episode")
    assert [context.horizon for context in session.begun] == [12]
    after = next(o for o in session.seen if o.step == 3)
    assert after.features["state.proprioception"][:, 0].tolist() == [1, 3]


def test_a_policy_reset_per_segment_has_no_past_from_before_it(fakes: Any) -> None:
    session = fakes.Session(fakes.still(2), offsets={"state.proprioception": (-2, 0)})
    run(fakes, fakes.Environment(success={3}), session, fakes.episode(6, 6))
    after = next(o for o in session.seen if o.step == 3)
    assert after.features["state.proprioception"][:, 0].tolist() == [3, 3]


def test_a_failed_segment_ends_the_episode(fakes: Any) -> None:
    record = run(fakes, fakes.Environment(success={9}), fakes.Session(fakes.still()), fakes.episode(6, 6))
    assert (record.outcome, record.termination, record.steps) == (Outcome.FAILURE, "horizon", 6)
    assert (record.success_once, record.first_success_step) == (False, None)
    assert record.metrics["segments_passed"] == 0


def test_inferences_are_counted_through_all_segments(fakes: Any) -> None:
    session = fakes.Session(fakes.still(4))
    run(fakes, fakes.Environment(success={3}), session, fakes.episode(6, 6))
    assert [o.inference_index for o in session.seen] == [0, 1, 2]


# --- the record ----------------------------------------------------------------------------------------


def test_the_record_says_what_the_episode_was(fakes: Any) -> None:
    environment = fakes.Environment(start=(0.25, 0.5))
    provenance = Provenance(worker="w0", policy_replica="r1", boot_s=2.5)
    record = run_episode(
        environment, fakes.Session(fakes.still()), fakes.episode(3), fakes.settings(), provenance=provenance
    )
    assert (record.task, record.index, record.repetition, record.seed) == ("reach", 3, 1, 7)
    assert record.instruction_sha256 == hashlib.sha256(b"part 0").hexdigest()
    assert record.initial_state_digest == hashlib.sha256(np.array([0.25, 0.5]).tobytes()).hexdigest()
    assert (record.worker, record.policy_replica, record.boot_s) == ("w0", "r1", 2.5)
    assert record.act_ms is not None
    assert record.step_ms is not None
    assert (record.act_ms.count, record.step_ms.count) == (3, 3)
    assert record.initial_state_deviation is None
    assert record.error is None


def test_a_record_survives_the_wire(fakes: Any) -> None:
    record = run(fakes, fakes.Environment(metrics={"distance": 0.5}), fakes.Session(fakes.still()))
    assert msgspec.json.decode(msgspec.json.encode(record), type=EpisodeRecord) == record


def test_events_are_counted_and_the_last_metric_is_kept(fakes: Any) -> None:
    environment = fakes.Environment(events=("bump",), metrics={"reward": 3.0})
    record = run(fakes, environment, fakes.Session(fakes.still()))
    assert (record.events, record.metrics) == ({"bump": 12}, {"reward": 3.0})


def test_a_metric_that_is_not_finite_is_an_event_not_a_number(fakes: Any) -> None:
    record = run(fakes, fakes.Environment(metrics={"reward": float("nan")}), fakes.Session(fakes.still()))
    assert (record.metrics, record.events) == ({}, {"metric reward is not finite": 12})


def test_kinds_of_events_are_bounded(fakes: Any) -> None:
    environment = fakes.Environment(events=tuple(f"event {n}" for n in range(200)))
    record = run(fakes, environment, fakes.Session(fakes.still()))
    assert len(record.events) <= 65
    assert sum(record.events.values()) == 12 * 200


def test_clipped_actions_are_counted(fakes: Any) -> None:
    session = fakes.Session(lambda o: ActionChunk(np.full((1, 2), 2.0, np.float32)))
    environment = fakes.Environment()
    record = run(fakes, environment, session)
    assert (record.actions_clipped, record.actions_out_of_limits) == (12, 12)
    assert np.all(np.array(environment.applied) == 1.0)


def test_privileged_features_that_were_used_are_named(fakes: Any) -> None:
    record = run(fakes, fakes.Environment(), fakes.Session(fakes.still()), observe=("privileged.goal",))
    assert record.privileged_features == ("privileged.goal",)
    assert run(fakes, fakes.Environment(), fakes.Session(fakes.still())).privileged_features == ()


def test_a_start_that_is_not_the_recorded_one_is_a_benchmark_error_before_the_policy_is_asked(
    fakes: Any,
) -> None:
    session = fakes.Session(fakes.still())
    record = run(fakes, fakes.Environment(), session, fakes.episode(3, initial_state=(0.0, 1.0)))
    assert record.outcome is Outcome.BENCHMARK_ERROR
    assert record.error is not None
    assert (record.error.phase, record.termination) == ("begin", "error")
    assert session.begun == []


# --- faults of the policy ------------------------------------------------------------------------------

BAD_REPLIES = {
    "list": [[0.0, 0.0]],
    "none": None,
    "array": np.zeros((1, 2), np.float32),
    "nan": ActionChunk(np.full((1, 2), np.nan, np.float32)),
    "inf": ActionChunk(np.full((1, 2), np.inf, np.float32)),
    "float64": ActionChunk(np.zeros((1, 2))),
    "int": ActionChunk(np.zeros((1, 2), np.int32)),
    "shape": ActionChunk(np.zeros((1, 3), np.float32)),
}


@pytest.mark.parametrize("name", BAD_REPLIES)
def test_a_bad_action_is_a_policy_error_and_never_reaches_the_simulator(fakes: Any, name: str) -> None:
    environment = fakes.Environment()
    session = fakes.Session(lambda observation: BAD_REPLIES[name])
    record = run(fakes, environment, session)
    assert (record.outcome, record.termination) == (Outcome.POLICY_ERROR, "policy_error")
    assert record.error is not None
    assert (record.error.phase, record.error.type) == ("check_action", "InvalidActionError")
    assert environment.applied == []
    assert session.ended == [("reach/3/1", "policy_error")]


@pytest.mark.parametrize(
    "fault", ["raise", "nan", "inf", "float64", "int", "long", "empty", "list", "none", "object"]
)
def test_a_real_policy_gone_wrong_in_mid_episode_is_a_policy_error_at_that_step(
    fakes: Any, fault: str
) -> None:
    definition = toy_definition(["reach"], success="at_end")
    (episode,) = toy_episodes(definition, 1)
    policy = FaultyPolicy(fault, step=2)
    settings = fakes.settings(definition, observe=("privileged.goal", "state.proprioception"))
    environment = FAMILY.open(definition, definition.tasks[0], definition.actions[0])
    record = run_episode(environment, fakes.Session(policy.act, policy.reset), episode, settings)
    assert (record.outcome, record.steps) == (Outcome.POLICY_ERROR, 2)
    assert record.error is not None
    assert record.error.step == 2
    assert record.error.message


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (DeadlineError("no answer in 5 s"), Outcome.POLICY_ERROR),
        (InvalidActionError("bytes"), Outcome.POLICY_ERROR),
        (ProtocolError("junk"), Outcome.POLICY_ERROR),
        (PolicyGoneError("connection closed"), Outcome.INFRASTRUCTURE_ERROR),
        (ZeroDivisionError("a bug in the session"), Outcome.INFRASTRUCTURE_ERROR),
    ],
)
def test_what_the_session_raises_decides_whose_fault_it_was(
    fakes: Any, error: Exception, outcome: Outcome
) -> None:
    def act(observation: Observation) -> ActionChunk:
        raise error

    session = fakes.Session(act)
    record = run(fakes, fakes.Environment(), session)
    assert record.outcome is outcome
    assert record.error is not None
    assert (record.error.phase, record.error.message) == ("policy_act", str(error))
    assert session.ended == [("reach/3/1", outcome.value)]


def test_a_policy_that_raises_in_reset_is_a_policy_error_and_is_told_the_end(fakes: Any) -> None:
    def reset(context: Any) -> None:
        raise RuntimeError("no")

    session = fakes.Session(fakes.still(), reset)
    record = run(fakes, fakes.Environment(), session)
    assert record.outcome is Outcome.POLICY_ERROR
    assert record.error is not None
    assert record.error.phase == "policy_reset"
    assert session.ended == [("reach/3/1", "policy_error")]


def test_an_end_that_fails_does_not_change_the_result(fakes: Any) -> None:
    session = fakes.Session(fakes.still())
    session.end_raises = PolicyGoneError("gone")
    record = run(fakes, fakes.Environment(success={2}), session)
    assert (record.outcome, record.events) == (Outcome.SUCCESS, {"policy end: PolicyGoneError": 1})


# --- faults of the simulator ---------------------------------------------------------------------------


@pytest.mark.parametrize(("step", "phase"), [(0, "begin"), (4, "step")])
@pytest.mark.parametrize("error", [BenchmarkFault("diverged"), RuntimeError("diverged")])
def test_a_simulator_that_raises_is_a_benchmark_error(
    fakes: Any, step: int, phase: str, error: Exception
) -> None:
    environment = fakes.Environment()
    environment.raises = {step: error}
    record = run(fakes, environment, fakes.Session(fakes.still()))
    assert (record.outcome, record.termination) == (Outcome.BENCHMARK_ERROR, "error")
    assert record.error is not None
    assert (record.error.phase, record.error.message) == (phase, "diverged")


def test_out_of_memory_is_the_machines_fault(fakes: Any) -> None:
    environment = fakes.Environment()
    environment.raises = {1: MemoryError()}
    assert run(fakes, environment, fakes.Session(fakes.still())).outcome is Outcome.INFRASTRUCTURE_ERROR


def test_settings_that_contradict_themselves_are_refused_before_anything_runs(fakes: Any) -> None:
    settings = fakes.settings(action_representation="toy.velocity-v2")
    with pytest.raises(UnknownNameError, match=r"did you mean 'toy\.velocity-v1'"):
        run_episode(fakes.Environment(), fakes.Session(fakes.still()), fakes.episode(3), settings)


# --- watching ------------------------------------------------------------------------------------------


class Watch:
    """Writes down phases; cancels before control step `stop`."""

    def __init__(self, stop: int | None = None) -> None:
        self.phases: list[tuple[str, int]] = []
        self._stop = stop

    def enter(self, phase: str, step: int) -> None:
        self.phases.append((phase, step))

    def cancelled(self) -> bool:
        return (
            self._stop is not None and self.phases[-1][1] >= self._stop - 1 and self.phases[-1][0] == "step"
        )


def test_every_phase_is_announced_before_it_starts(fakes: Any) -> None:
    watch = Watch()
    run_episode(
        fakes.Environment(), fakes.Session(fakes.still(2)), fakes.episode(2), fakes.settings(), monitor=watch
    )
    assert watch.phases == [
        ("begin", 0),
        ("policy_reset", 0),
        ("policy_act", 0),
        ("check_action", 0),
        ("step", 0),
        ("step", 1),
        ("teardown", 2),
        ("record", 2),
    ]


def test_a_cancelled_episode_stops_before_its_next_step(fakes: Any) -> None:
    environment, session = fakes.Environment(), fakes.Session(fakes.still(5))
    record = run_episode(environment, session, fakes.episode(12), fakes.settings(), monitor=Watch(stop=3))
    assert (record.outcome, record.termination) == (Outcome.CANCELLED, "cancelled")
    assert len(environment.applied) == 3
    assert session.ended == [("reach/3/1", "cancelled")]


def test_what_ends_the_process_passes_through_after_the_policy_was_told(fakes: Any) -> None:
    def act(observation: Observation) -> ActionChunk:
        raise KeyboardInterrupt

    session = fakes.Session(act)
    with pytest.raises(KeyboardInterrupt):
        run(fakes, fakes.Environment(), session)
    assert session.ended == [("reach/3/1", "cancelled")]


# --- with a real simulator and a real policy -----------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 8])
def test_an_expert_solves_the_toy_tasks(fakes: Any, chunk: int) -> None:
    definition = toy_definition(["reach", "park", "tour"])
    policy = ExpertPolicy(chunk)
    settings = fakes.settings(definition, observe=("privileged.goal", "state.proprioception"))
    outcomes = [
        run_episode(
            FAMILY.open(
                definition,
                next(t for t in definition.tasks if t.id == episode.task),
                definition.actions[0],
            ),
            fakes.Session(policy.act),
            episode,
            settings,
        ).outcome
        for episode in toy_episodes(definition, 3)
    ]
    assert outcomes == [Outcome.SUCCESS] * 9


def test_the_same_episode_gives_the_same_record_whatever_ran_before(fakes: Any) -> None:
    definition = toy_definition(["reach"])
    first, second = toy_episodes(definition, 2)
    policy = ExpertPolicy(4)
    settings = fakes.settings(definition, observe=("privileged.goal", "state.proprioception"))
    environment = FAMILY.open(definition, definition.tasks[0], definition.actions[0])

    def science(episode: Any) -> tuple[Any, ...]:
        record = run_episode(environment, fakes.Session(policy.act), episode, settings)
        return record.outcome, record.steps, record.initial_state_digest, record.metrics

    alone = science(first)
    science(second)
    assert science(first) == alone
