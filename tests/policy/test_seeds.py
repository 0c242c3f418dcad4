"""Seeds are a documented function of the plan. The vectors also stand in docs/reference/policy-api.md."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.policy.seeds import SEED_MAX, noise_seed, policy_seed

seeds = st.integers(0, SEED_MAX)


@pytest.mark.parametrize(
    ("run_seed", "episode_key", "repetition", "expected"),
    [
        (0, "transfer-cube/0", 0, 1344760471999404693),
        (0, "transfer-cube/0", 1, 2475157315864410730),
        (0, "transfer-cube/1", 0, 2184832072107393628),
        (7, "insertion/49", 0, 7751850802609007744),
        (2**63 - 1, "aufgabe-ü/3", 12, 162526369048986842),
    ],
)
def test_policy_seed_vectors(run_seed: int, episode_key: str, repetition: int, expected: int) -> None:
    assert policy_seed(run_seed, episode_key, repetition) == expected


@pytest.mark.parametrize(
    ("seed", "inference_index", "expected"),
    [
        (0, 0, 384685983169972498),
        (0, 1, 609977446665004382),
        (1, 0, 2303842956004402052),
        (2**63 - 1, 4095, 3725638576471575287),
    ],
)
def test_noise_seed_vectors(seed: int, inference_index: int, expected: int) -> None:
    assert noise_seed(seed, inference_index) == expected


@given(st.integers(0, 2**80), st.text(min_size=1), st.integers(0, 999))
def test_policy_seeds_fit_a_signed_64_bit_integer(run_seed: int, key: str, repetition: int) -> None:
    assert 0 <= policy_seed(run_seed, key, repetition) <= SEED_MAX


@given(seeds, st.integers(0, 9999))
def test_noise_seeds_are_seeds_again_and_never_the_policy_seed(seed: int, index: int) -> None:
    assert 0 <= noise_seed(seed, index) <= SEED_MAX
    assert noise_seed(seed, index) != seed


def test_every_argument_counts() -> None:
    made = {
        policy_seed(*plan) for plan in [(1, "a", 1), (1, "a", 11), (11, "a", 1), (1, "1\na", 1), (1, "b", 1)]
    }
    assert len(made) == 5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: policy_seed(-1, "a", 0), ValueError, "run_seed must be at least 0"),
        (lambda: policy_seed(0, "", 0), ValueError, "episode_key must not be empty"),
        (lambda: policy_seed(0, "a", -1), ValueError, "repetition must be at least 0"),
        (lambda: policy_seed(True, "a", 0), TypeError, "run_seed must be an int, got bool"),
        (lambda: noise_seed(2**63, 0), ValueError, "policy_seed must be at most"),
        (lambda: noise_seed(0, -1), ValueError, "inference_index must be at least 0"),
    ],
)
def test_arguments_are_checked(call: object, error: type[Exception], message: str) -> None:
    assert callable(call)
    with pytest.raises(error, match=message):
        call()
