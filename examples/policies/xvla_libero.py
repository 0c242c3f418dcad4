"""An X-VLA server on LIBERO, asked as X-VLA's own client asks it.

    proctor bench eval libero-xvla-v1 --policy examples/policies/xvla_libero.py:XvlaLibero \\
        --policy-arg url=http://10.0.0.5:8000/act --run xvla

The server answers thirty targets at a time: position, rotation as six numbers, gripper. The client reads
where the hand is once in an episode; from then on it sends the last target as if the hand were there, which
no `--mapping` can say. `feedback=observed` sends where the hand is every time, as some copies do.
"""

from urllib.parse import urlsplit

import httpx2
import numpy as np
from numpy.typing import NDArray

from proctor.actions.rot6d import matrix_from_columns
from proctor.actions.rotations import rotation_vector_from_matrix
from proctor.policy import (
    ActionChunk,
    EpisodeContext,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)
from proctor.wire.xvla.codec import decode_reply, encode_request

MAIN, WRIST = "images.primary", "images.wrist"
STATE, SENTENCE = "state.ee_rot6d_columns", "language.instruction"

LIBERO_DOMAIN = 3
ROWS = 30
POSE = 9
"""Numbers of a position and a rotation; the gripper is the tenth, and is sent as 0."""
CLOSES_ABOVE = 0.5
PATIENCE_S = 120.0
"""For an answer: the first one may compile."""


class XvlaLibero(Policy):
    """One request for each chunk; the server keeps nothing between two."""

    def __init__(
        self, url: str = "http://127.0.0.1:8000/act", feedback: str = "target", steps: int = 10
    ) -> None:
        """`steps` of denoising. Raises ValueError for a URL or a feedback that is none."""
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise ValueError(f"url {url!r}; valid: as http://HOST:PORT/act")
        if feedback not in ("target", "observed"):
            raise ValueError(f"feedback {feedback!r}; valid: target, observed")
        self._url, self._feedback, self._steps = url, feedback, steps
        self._targets: dict[str, NDArray[np.float64]] = {}
        self._server = httpx2.Client(timeout=PATIENCE_S)

    def load(self, context: SessionContext) -> PolicyCapabilities:
        return PolicyCapabilities(
            supported_benchmarks=("libero",),
            required_features=(MAIN, WRIST, STATE, SENTENCE),
            action_representations={"libero": "libero.absolute-eef-v1"},
            supported_action_chunk_sizes=(ROWS,),
        )

    def reset(self, context: EpisodeContext) -> None:
        self._targets.pop(context.episode_id, None)

    def act(self, observation: Observation) -> ActionChunk:
        """Raises ValueError for what is no answer, `InvalidActionError` for what is no list of rows."""
        state = np.array(observation.features[STATE], np.float64)
        if self._feedback == "target" and observation.episode_id in self._targets:
            state[:POSE] = self._targets[observation.episode_id]
        answer = self._ask(observation, state)
        self._targets[observation.episode_id] = answer[-1, :POSE]
        return ActionChunk(np.stack([target_of(row) for row in answer]))

    def end_episode(self, episode_id: str) -> None:
        self._targets.pop(episode_id, None)

    def unload(self) -> None:
        self._server.close()

    def _ask(self, observation: Observation, state: NDArray[np.float64]) -> NDArray[np.float64]:
        body = encode_request(
            {
                "domain_id": LIBERO_DOMAIN,
                "proprio": state,
                "image0": observation.features[MAIN],
                "image1": observation.features[WRIST],
                "language_instruction": observation.features[SENTENCE],
                "steps": self._steps,
            }
        )
        answer = self._server.post(self._url, content=body, headers={"Content-Type": "application/json"})
        if answer.status_code != 200:
            raise ValueError(f"{self._url} answers {answer.status_code}: {answer.text[:200]}")
        rows = np.array(decode_reply(answer.content, "action").get("action", []), np.float64)
        if rows.ndim != 2 or len(rows) != ROWS or rows.shape[1] <= POSE:
            raise ValueError(
                f"{self._url} answers actions of shape {rows.shape}; expected ({ROWS}, {POSE + 1} or more)"
            )
        return rows


def target_of(row: NDArray[np.float64]) -> NDArray[np.float32]:
    """(7,): x y z, rotation vector, and the gripper's sign, 1 to close."""
    turn = rotation_vector_from_matrix(matrix_from_columns(row[3:POSE]))
    return np.array([*row[:3], *turn, 1.0 if row[POSE] > CLOSES_ABOVE else -1.0], np.float32)
