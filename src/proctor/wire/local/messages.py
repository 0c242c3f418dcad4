"""The messages of the local dialect, typed: what is not one of these is not the protocol.

Each travels as a msgpack array, its tag first. docs/reference/local-dialect.md has the conversation.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from proctor.limits import MAX_ARRAY_RANK, MAX_BATCH_ITEMS, MAX_FEATURES, MAX_LAYOUTS, MAX_SHARED_BYTES
from proctor.policy.batching import Batching
from proctor.policy.calls import FailureCode
from proctor.policy.lifecycle import PolicyState

PROTOCOL: Final = "proctor.local/1"

Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Size = Annotated[int, Meta(ge=0, le=MAX_SHARED_BYTES)]
LayoutNumber = Annotated[int, Meta(ge=0, lt=MAX_LAYOUTS)]
Shape = Annotated[tuple[Number, ...], Meta(max_length=MAX_ARRAY_RANK)]
Role = Literal["control", "episodes"]
Reason = Literal["protocol", "unread", "leaving", "full"]


class _Message(Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """Base of every message and part of one."""


# --- both ways -------------------------------------------------------------------------------------


class Hello(_Message, tag="hello"):
    """Client: what this connection is for. `control` never waits for the policy, `episodes` does."""

    protocol: str
    role: Role


class Greeting(_Message, tag="greeting"):
    """Server, before anything else: what it speaks, who it is, and the state of its policy."""

    protocol: str
    version: str
    state: PolicyState


class Closing(_Message, tag="closing"):
    """Server: why it closes this connection now."""

    reason: Reason
    message: str


# --- client to server, control ---------------------------------------------------------------------


class HealthRequest(_Message, tag="health"):
    """How are you?"""

    id: Number


class DescribeRequest(_Message, tag="describe"):
    """What is loaded?"""

    id: Number


class LoadRequest(_Message, tag="load"):
    """Load the policy; `context` is a SessionContext as a dict."""

    id: Number
    context: dict[str, Any]


class UnloadRequest(_Message, tag="unload"):
    """Unload the policy and end the server."""

    id: Number


# --- client to server, episodes --------------------------------------------------------------------


class Memory(_Message, tag="memory"):
    """The sealed memory whose descriptor came with this frame replaces the one before it. No answer."""

    size: Size


class FeatureLayout(_Message):
    """Where one array feature lies, counted from the start of its observation."""

    name: str
    dtype: str
    shape: Shape
    offset: Size


class Layout(_Message, tag="layout"):
    """The form of observations that name this layout from now on. No answer."""

    layout: LayoutNumber
    arrays: Annotated[tuple[FeatureLayout, ...], Meta(max_length=MAX_FEATURES)]
    texts: Annotated[tuple[str, ...], Meta(max_length=MAX_FEATURES)]
    """Names of the language features, in the order in which `Query.texts` has their values."""


class Query(_Message):
    """One observation: its arrays start at `offset` of the shared memory, or of the body if `inline`."""

    episode_id: str
    step: Number
    layout: LayoutNumber
    offset: Size
    inline: bool
    inference_index: Number
    seed: Number | None
    timestamp_s: float | None
    texts: Annotated[tuple[str, ...], Meta(max_length=MAX_FEATURES)]


class ResetRequest(_Message, tag="reset"):
    """An episode begins; `context` is an EpisodeContext as a dict."""

    id: Number
    context: dict[str, Any]


class ActRequest(_Message, tag="act"):
    """What follows this observation?"""

    id: Number
    query: Query


class ActBatchRequest(_Message, tag="act_batch"):
    """What follows each of these observations?"""

    id: Number
    queries: Annotated[tuple[Query, ...], Meta(min_length=1, max_length=MAX_BATCH_ITEMS)]


class EndRequest(_Message, tag="end"):
    """An episode is over."""

    id: Number
    episode_id: str
    outcome: str


# --- server to client ------------------------------------------------------------------------------


class Done(_Message, tag="done"):
    """Acknowledges reset, end and unload."""

    id: Number


class Loaded(_Message, tag="loaded"):
    """Answers load; `capabilities` is a PolicyCapabilities as a dict."""

    id: Number
    capabilities: dict[str, Any]


class HealthReport(_Message, tag="health"):
    """Answers health at once, whatever the policy does."""

    id: Number
    state: PolicyState
    operation: str
    """What the policy is doing, empty when nothing."""
    busy_s: float
    """For how many seconds it has been doing that."""
    episodes: Number
    """Episodes that are open."""


class Description(_Message, tag="description"):
    """Answers describe; the dicts are BenchmarkSpec and PolicyCapabilities, None before load."""

    id: Number
    benchmark: dict[str, Any] | None
    capabilities: dict[str, Any] | None
    batching: Batching
    checkpoint_path: str
    """Of the SessionContext it was loaded with."""


class ChunkForm(_Message):
    """Form of one array of actions; its bytes stand in the body, one array after the other."""

    dtype: str
    shape: Shape


class Chunk(_Message, tag="chunk"):
    """Answers act."""

    id: Number
    form: ChunkForm


class Chunks(_Message, tag="chunks"):
    """Answers act_batch, in the order of the queries."""

    id: Number
    forms: Annotated[tuple[ChunkForm, ...], Meta(max_length=MAX_BATCH_ITEMS)]


class Failed(_Message, tag="failed"):
    """The answer to any request that could not be fulfilled."""

    id: Number
    code: FailureCode
    error_type: str
    message: str
    error_id: str
    """Finds the traceback in the server's log; empty where there is none."""
    state: PolicyState


ToServer = (
    Hello
    | HealthRequest
    | DescribeRequest
    | LoadRequest
    | UnloadRequest
    | Memory
    | Layout
    | ResetRequest
    | ActRequest
    | ActBatchRequest
    | EndRequest
)
Answer = Done | Loaded | HealthReport | Description | Chunk | Chunks | Failed
ToClient = Greeting | Closing | Answer
