"""The seeds a policy is given: a function of the plan, never of order, worker or clock.

    policy seed = H("proctor.policy-seed/1", run seed, repetition, episode key)
    noise seed  = H("proctor.noise-seed/1", policy seed, inference index)

H joins its parts with a line feed (integers in decimal, text in UTF-8, the text part last), takes the
SHA-256, reads the first eight bytes as a big-endian integer and drops its lowest bit. Nothing but `hashlib`
is involved, so the values hold for every numpy version. `docs/reference/policy-api.md` has vectors.
"""

from __future__ import annotations

import hashlib
from typing import Final

from proctor.policy import _fields

SEED_MAX: Final = (1 << 63) - 1
"""Largest seed: what fits a signed 64-bit integer, so that every wire, database and generator takes it."""


def policy_seed(run_seed: int, episode_key: str, repetition: int) -> int:
    """The policy's seed for one episode, in [0, 2**63).

    `run_seed` is any int ≥ 0, `episode_key` names the episode within its benchmark (non-empty), `repetition`
    counts from 0. Raises `TypeError` or `ValueError` for anything else.
    """
    _fields.whole("run_seed", run_seed, minimum=0)
    _fields.text("episode_key", episode_key)
    _fields.whole("repetition", repetition, minimum=0)
    return _hash("proctor.policy-seed/1", str(run_seed), str(repetition), episode_key)


def noise_seed(policy_seed: int, inference_index: int) -> int:
    """The seed of one inference of an episode, in [0, 2**63); `inference_index` counts from 0."""
    _fields.whole("policy_seed", policy_seed, minimum=0, maximum=SEED_MAX)
    _fields.whole("inference_index", inference_index, minimum=0)
    return _hash("proctor.noise-seed/1", str(policy_seed), str(inference_index))


def _hash(*parts: str) -> int:
    digest = hashlib.sha256("\n".join(parts).encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") >> 1
