"""The policy that asks an X-VLA server as X-VLA's client does, beside a server on a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from proctor.benchmarks.registry import find_version
from proctor.benchmarks.spec import benchmark_spec
from proctor.errors import PolicyLoadError
from proctor.policy import EpisodeContext, Observation, Policy, negotiate_policy_action_contract
from proctor.policy.loading import make_policy
from proctor.wire.xvla.codec import array_of

FILE = Path(__file__).parents[2] / "examples" / "policies" / "xvla_libero.py"
TURNED = [0.0, 1.0, 0.0, -1.0, 0.0, 0.0]
"""The columns of a quarter turn about z."""
FRAME = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)


class Server(ThreadingHTTPServer):
    """Keeps what it is asked, and answers `rows`."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.rows: Any = np.array(
            [[0.1 * n, 0.2, 1.0, *TURNED, n / 30, *[0.0] * 10] for n in range(30)]
        ).tolist()
        self.status = 200
        super().__init__(("127.0.0.1", 0), Answering)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/act"


class Answering(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = json.dumps(
            {"action": self.server.rows} if self.server.status == 200 else {"error": "no"}
        ).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def policy(**arguments: object) -> Policy:
    return make_policy(f"{FILE}:XvlaLibero", arguments)


def see(hand: float, episode: str = "e") -> Observation:
    state = np.array([hand] * 9 + [0.0] * 11, np.float32)
    features = {
        "images.primary": FRAME,
        "images.wrist": FRAME + 100,
        "state.ee_rot6d_columns": state,
        "language.instruction": "pick it up",
    }
    return Observation(episode, 0, features)


def sent(server: Server) -> list[NDArray[Any]]:
    return [array_of(each["proprio"]) for each in server.asked]


def test_it_asks_in_the_words_of_the_client(server: Server) -> None:
    policy(url=server.url).act(see(0.5))
    (asked,) = server.asked
    assert {key: asked[key] for key in ("domain_id", "language_instruction", "steps")} == {
        "domain_id": 3,
        "language_instruction": "pick it up",
        "steps": 10,
    }
    assert np.array_equal(array_of(asked["image0"]), FRAME)
    assert np.array_equal(array_of(asked["image1"]), FRAME + 100)
    assert array_of(asked["proprio"]).tolist() == [0.5] * 9 + [0.0] * 11


def test_thirty_targets_come_of_an_answer(server: Server) -> None:
    actions = policy(url=server.url).act(see(0.5)).actions
    assert actions.shape == (30, 7)
    assert actions[2] == pytest.approx([0.2, 0.2, 1.0, 0.0, 0.0, np.pi / 2, -1.0])


def test_the_gripper_closes_above_a_half(server: Server) -> None:
    assert policy(url=server.url).act(see(0.5)).actions[:, 6].tolist() == [-1.0] * 16 + [1.0] * 14


def test_from_the_second_request_on_the_last_target_is_where_the_hand_is_said_to_be(server: Server) -> None:
    one = policy(url=server.url)
    for hand in (0.5, 0.7):
        one.act(see(hand))
    assert sent(server)[1] == pytest.approx([2.9, 0.2, 1.0, *TURNED, *[0.0] * 11])


@pytest.mark.parametrize("ending", ["end_episode", "reset"])
def test_an_episode_begins_where_the_hand_is(server: Server, ending: str) -> None:
    one = policy(url=server.url)
    one.act(see(0.5))
    if ending == "end_episode":
        one.end_episode("e")
    else:
        one.reset(EpisodeContext("e", "spatial-0"))
    one.act(see(0.25))
    assert sent(server)[1].tolist() == [0.25] * 9 + [0.0] * 11


def test_episodes_beside_each_other_keep_their_own_targets(server: Server) -> None:
    one = policy(url=server.url)
    one.act(see(0.5, "e"))
    one.act(see(0.25, "f"))
    assert sent(server)[1].tolist() == [0.25] * 9 + [0.0] * 11


def test_feedback_may_be_what_is_observed(server: Server) -> None:
    one = policy(url=server.url, feedback="observed")
    for hand in (0.5, 0.75):
        one.act(see(hand))
    assert sent(server)[1].tolist() == [0.75] * 9 + [0.0] * 11


def test_it_agrees_with_the_version_upon_targets() -> None:
    spec = benchmark_spec(find_version("libero-xvla-v1").definition)
    capabilities = policy().load(type("Context", (), {"benchmark": spec})())
    contract = negotiate_policy_action_contract(spec, capabilities)
    assert contract.action_representation == "libero.absolute-eef-v1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": "10.0.0.5:8000"}, r"url '10.0.0.5:8000'; valid: as http://HOST:PORT/act"),
        ({"feedback": "none"}, "feedback 'none'; valid: target, observed"),
    ],
)
def test_what_is_no_address_or_feedback_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyLoadError, match=message):
        policy(**arguments)


def test_a_refusal_of_the_server_is_told_with_its_words(server: Server) -> None:
    server.status = 400
    with pytest.raises(ValueError, match=r'/act answers 400: {"error": "no"}'):
        policy(url=server.url).act(see(0.5))


@pytest.mark.parametrize("rows", [[], [[0.0] * 20] * 29, [[0.0] * 9] * 30])
def test_an_answer_of_another_shape_is_refused(server: Server, rows: list[list[float]]) -> None:
    server.rows = rows
    with pytest.raises(ValueError, match=r"answers actions of shape \(.*\); expected \(30, 10 or more\)"):
        policy(url=server.url).act(see(0.5))
