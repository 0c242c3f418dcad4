"""The first step of one episode, where its simulator is: less than the conformance kit, in seconds.

    python -m proctor.testing.first_step < ORDER

A version of one episode comes on standard input (`proctor.benchmarks.orders`). Prints, as JSON, how far its
start is from the recorded one; fails where the start or a feature is not as the version declares it.
"""

from __future__ import annotations

import json

from proctor.benchmarks.orders import answers, read_order
from proctor.benchmarks.registry import find_family
from proctor.benchmarks.starts import check_start
from proctor.testing.benchmark_rules import Subject, require_features


def main() -> None:
    """One lane, all features."""
    with answers() as stream:
        version = read_order()
        definition, (episode,) = version.definition, version.episodes
        task = next(each for each in definition.tasks if each.id == episode.task)
        subject = Subject(find_family(definition.family), version, task, definition.actions[0])
        names = [feature.name for feature in subject.features]
        with subject.environment() as lane:
            reset = lane.begin(episode, names)
            require_features(subject, reset.observation, names)
            require_features(subject, lane.step(subject.actions(lane)[0], names).observation, names)
        deviation = check_start(reset.initial_state, episode, definition.initial_state_tolerance)
        print(json.dumps({"episode": episode.id, "deviation": deviation}), file=stream)


if __name__ == "__main__":
    main()
