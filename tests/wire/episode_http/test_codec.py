"""Bytes of the episode protocol, in both directions."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import InvalidActionError, ProtocolError, RequestRefusedError, UsageError
from proctor.limits import MAX_BODY_BYTES
from proctor.policy import ActionSpec, BenchmarkSpec, FeatureKind, FeatureSpec
from proctor.wire.episode_http import codec
from proctor.wire.episode_http.messages import (
    FinalizeReply,
    FinalizeRequest,
    InitReply,
    InitRequest,
    StepReply,
)
from proctor.wire.mapper import Mapper
from proctor.wire.mapping import ImageMapping, Mapping, StateMapping
from proctor.wire.presets import PRESETS

GUIDE = PRESETS["embodybench"]


def spec(height: int | None = 240, joints: int = 14) -> BenchmarkSpec:
    return BenchmarkSpec(
        name="robotwin",
        suite="all",
        protocol_version="robotwin-v1",
        features=(
            FeatureSpec("images.head", FeatureKind.IMAGE, dtype="uint8", shape=(height, 320, 3)),
            FeatureSpec("state.joints", FeatureKind.STATE, dtype="float32", shape=(joints,)),
            FeatureSpec("language.instruction", FeatureKind.LANGUAGE),
        ),
        action=ActionSpec(name="joint_abs_14", dimension=joints),
        supported_action_representations=("joint_abs_14",),
        default_action_representation="joint_abs_14",
    )


# --- vectors: message and bytes --------------------------------------------------------------------------

INIT = InitRequest(
    benchmark="robopro",
    task="put_mouse_on_pad",
    seed=100007,
    max_steps=200,
    embodiment="aloha-agilex",
    instruction="place the mouse on the mousepad",
    action_space="joint_abs_14",
)
INIT_BYTES = (
    b'{"benchmark":"robopro","task":"put_mouse_on_pad","seed":100007,"max_steps":200,"embodiment":"aloha-agilex",'
    b'"instruction":"place the mouse on the mousepad","action_space":"joint_abs_14"}'
)
VECTORS: list[tuple[Any, bytes]] = [
    (INIT, INIT_BYTES),
    (InitReply(episode_id="ep_a1b2c3d4e5", ttl_sec=3600), b'{"episode_id":"ep_a1b2c3d4e5","ttl_sec":3600}'),
    (InitReply(episode_id="ep_a1b2c3d4e5"), b'{"episode_id":"ep_a1b2c3d4e5"}'),
    (StepReply([0.1, -0.3, 1.0]), b'{"action":[0.1,-0.3,1.0]}'),
    (FinalizeRequest("complete"), b'{"outcome":"complete"}'),
    (FinalizeReply(), b'{"ok":true}'),
]


@pytest.mark.parametrize(("message", "data"), VECTORS, ids=lambda value: type(value).__name__)
def test_messages_have_these_bytes(message: Any, data: bytes) -> None:
    assert codec.encode(message) == data
    assert codec.decode_request(data, type(message)) == message


def test_an_observation_has_these_bytes() -> None:
    message = {
        "image_countertop": b"\xff\xd8\xff\xe0",
        "state": np.array([0.5, -0.25], np.float64),
        "instruction": "legen Sie die Maus auf das Mauspad ü",
    }
    data = (
        b'{"step":47,"obs":{"image_countertop":"/9j/4A==","state":[0.5,-0.25],'
        b'"instruction":"legen Sie die Maus auf das Mauspad \xc3\xbc"}}'
    )
    assert codec.encode_step(47, message) == data
    step, decoded = codec.StepDecoder(GUIDE).decode(data)
    assert step == 47
    assert decoded == {**message, "state": [0.5, -0.25]}


def test_a_guide_servers_init_without_an_action_space_is_understood() -> None:
    fields = json.loads(INIT_BYTES)
    del fields["action_space"]
    assert codec.decode_request(json.dumps(fields).encode(), InitRequest).action_space == ""


def test_paths_carry_any_id() -> None:
    for episode_id in ("ep_1", "a/b", "ü ?#%", "."):
        assert codec.parse_episode_path(codec.step_path(episode_id)) == (episode_id, "step")
        assert codec.parse_episode_path(codec.finalize_path(episode_id)) == (episode_id, "finalize")


@pytest.mark.parametrize(
    "path", ["/", "/episode/init", "/episode/x", "/episode/x/other", "/x/episode/x/step"]
)
def test_other_paths_are_none(path: str) -> None:
    assert codec.parse_episode_path(path) is None


# --- requests that are wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"task": ""}, "task"),
        ({"task": 1}, "task"),
        ({"seed": "7"}, "seed"),
        ({"max_steps": 0}, "max_steps"),
        ({"instruction": "x" * 5000}, "instruction"),
        ({"policy_seed": -1}, "policy_seed"),
        ({"policy_seed": 2**63}, "policy_seed"),
        ({"control_hz": 0}, "control_hz"),
        ({"benchmark": None}, "benchmark"),
    ],
)
def test_a_wrong_field_of_init_is_named(change: dict[str, Any], field: str) -> None:
    body = json.dumps({**json.loads(INIT_BYTES), **change}).encode()
    with pytest.raises(RequestRefusedError, match=field):
        codec.decode_request(body, InitRequest)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"step":1}',
        b'{"step":-1,"obs":{}}',
        b'{"step":1.5,"obs":{}}',
        b'{"step":1,"obs":[]}',
        b'{"step":1,"obs":{"image_countertop":"data:image/jpeg;base64,/9j/"}}',
        b'{"step":1,"obs":{"image_countertop":7}}',
        b'{"step":1,"obs":{"state":[NaN]}}',
        b'{"step":1,"obs":{"state":[1e999]}}',
        b'{"step":1,"obs":{"state":[[1]]}}',
        b'{"step":1,"obs":{"state":{}}}',
        b'{"step":1,"obs":{"instruction":null}}',
        b'{"step":1,"obs":{"other":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    ],
)
def test_what_is_no_step_is_refused(body: bytes) -> None:
    with pytest.raises(RequestRefusedError, match="body: "):
        codec.StepDecoder(GUIDE).decode(body)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_understood(body: bytes) -> None:
    with suppress(RequestRefusedError):
        codec.StepDecoder(GUIDE).decode(body)


@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)),
    st.text(max_size=20),
    st.binary(max_size=50),
    st.integers(0, 2**63 - 1),
)
def test_steps_come_back_as_they_went(state: list[float], text: str, image: bytes, step: int) -> None:
    message = {"image_countertop": image, "state": np.array(state, np.float32), "instruction": text}
    assert codec.StepDecoder(GUIDE).decode(codec.encode_step(step, message)) == (
        step,
        {**message, "state": state},
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_state_that_json_has_no_number_for_is_not_sent(value: float) -> None:
    with pytest.raises(RequestRefusedError, match="NaN or infinity"):
        codec.encode_step(0, {"state": np.array([value])})


# --- replies that are wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"episode_id":""}', b'{"episode_id":7}', b'{"episode_id":"' + b"x" * 300 + b'"}']
)
def test_what_is_no_reply_to_init_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError, match="reply: "):
        codec.decode_reply(body, InitReply)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b'{"actions":[1]}',
        b'{"action":[[0,0]]}',
        b'{"action":"0"}',
        b'{"action":[true]}',
        b'{"action":[NaN]}',
        b'{"action":[Infinity]}',
        b'{"action":[1e999]}',
        b'{"action":["1"]}',
        b'{"action":null}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_action_is_an_invalid_action(body: bytes) -> None:
    with pytest.raises(InvalidActionError, match="reply: "):
        codec.decode_action(body, Mapper(GUIDE, spec(joints=2)))


@pytest.mark.parametrize("length", [0, 7, 13, 16, 20])
def test_an_action_of_another_length_names_both(length: int) -> None:
    body = codec.encode(StepReply([0.0] * length))
    expected = f"bad_action_shape: joint_abs_14 has 14 numbers, the server sent {length}$"
    with pytest.raises(InvalidActionError, match=expected):
        codec.decode_action(body, Mapper(GUIDE, spec()))


def test_an_action_has_the_benchmarks_dtype_and_whole_numbers_are_numbers() -> None:
    action = codec.decode_action(b'{"action":[1,0.5]}', Mapper(GUIDE, spec(joints=2)))
    assert action.dtype == np.float32
    assert action.tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"error":{"code":"unknown_episode","message":"gone"}}', ("unknown_episode", "gone")),
        (b'{"detail":"unknown episode_id"}', ("", "unknown episode_id")),
        (
            b'{"detail":[{"loc":["body","obs",0],"msg":"Field required","input":{"image":"/9j/"}}]}',
            ("", "body.obs.0: Field required"),
        ),
        (b'{"detail":{"why":1}}', ("", '{"detail":{"why":1}}')),
        (b"<h1>Bad gateway</h1>", ("", "<h1>Bad gateway</h1>")),
        (b"\xff", ("", "\ufffd")),
        (b"[" * 100_000, ("", "[" * 500)),
        (b"", ("", "")),
    ],
)
def test_errors_of_every_form_are_read(body: bytes, error: tuple[str, str]) -> None:
    assert codec.decode_error(body) == error


# --- mappings --------------------------------------------------------------------------------------------


def test_keys_may_be_nested_and_named_as_they_like() -> None:
    mapping = Mapping(
        name="nested",
        images=(ImageMapping(key="cameras.top view", feature=("images.head",), codec="png"),),
        states=(StateMapping(key="observation/state", feature=("state.joints",)),),
    )
    message = {"cameras": {"top view": b"image"}, "observation/state": np.array([1.0])}
    assert codec.StepDecoder(mapping).decode(codec.encode_step(0, message)) == (
        0,
        {"cameras": {"top view": b"image"}, "observation/state": [1.0]},
    )


def test_an_unlisted_key_is_ignored_whatever_it_holds() -> None:
    body = b'{"step":0,"obs":{"state":[1],"depth":[[[]]],"more":{}},"sent_at":"now"}'
    assert codec.StepDecoder(GUIDE).decode(body) == (0, {"state": [1.0]})


@pytest.mark.parametrize(
    "mapping",
    [
        PRESETS["canonical"],
        PRESETS["openpi-libero"],
        Mapping(name="lists", states=(StateMapping(key="states.0", feature=("state.joints",)),)),
    ],
    ids=lambda mapping: mapping.name,
)
def test_a_mapping_that_json_cannot_carry_is_refused(mapping: Mapping) -> None:
    with pytest.raises(UsageError, match=f"mapping '{mapping.name}'"):
        codec.check_mapping(mapping)


def test_the_largest_step_is_that_of_an_incompressible_frame() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (240, 320, 3), dtype=np.uint8)
    mapper = Mapper(GUIDE, spec())
    features = {"images.head": pixels, "state.joints": np.full(14, -1 / 3, np.float32)}
    body = codec.encode_step(0, mapper.to_wire({**features, "language.instruction": "x"}))
    assert len(body) < codec.largest_step(mapper) < 400_000


def test_frames_of_an_unknown_size_have_a_bound_too() -> None:
    assert codec.largest_step(Mapper(GUIDE, spec(height=None))) == MAX_BODY_BYTES
