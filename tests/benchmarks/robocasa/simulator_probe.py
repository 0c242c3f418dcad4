"""Run in the tabletop's own interpreter: prints, as JSON, what the tests of `test_simulator.py` look at.

python simulator_probe.py CHUNK SEED...   digests of the last of these starts, played and seen in chunks
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np

from proctor.benchmarks.orders import answers
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.robocasa.environment import open_kitchen
from proctor.benchmarks.robocasa.kitchen import Kitchen
from proctor.benchmarks.robocasa.layouts import LAYOUTS

DEFINITION = find_version("robocasa-gr1-v1").definition
LAYOUT = LAYOUTS["gr1"]
STEPS = 8
LOOK = 4
"""What is compared: every fourth step is in every chunk."""


def digest(*values: Any) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(value).tobytes() for value in values)).hexdigest()


def played(kitchen: Kitchen, seed: int, chunk: int) -> list[str]:
    observed = kitchen.reset(seed)
    seen = [observed[LAYOUT.language], digest(kitchen.start())]
    rest, random = LAYOUT.holding(None, observed), np.random.RandomState(0)
    for number in range(1, STEPS + 1):
        action = (rest + random.uniform(-0.2, 0.2, rest.size)).astype(np.float32)
        observed, _ = kitchen.step(LAYOUT.command(action), look=number % chunk == 0)
        seen.append(digest(LAYOUT.proprioception(observed)))
        if number % LOOK == 0:
            seen.append(digest(*(observed[each.key] for each in LAYOUT.images.values())))
    return seen


if __name__ == "__main__":
    chunk, *seeds = map(int, sys.argv[1:])
    with answers() as stream:
        kitchen = open_kitchen(DEFINITION, DEFINITION.tasks[2])
        found = [played(kitchen, seed, chunk) for seed in seeds]
        kitchen.close()
        print(json.dumps(found[-1]), file=stream)
