"""The messages of the protocol, typed. Keys that are not here are ignored, as the SDK ignores them.

What proctor adds to the SDK's own fields is optional on both sides: an observation's seed and inference
index, the details of a health report, and the code of an error.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Raw, Struct

from proctor.limits import MAX_ARRAY_RANK, MAX_BATCH_ITEMS, MAX_FEATURES

VERSION: Final = 1

OPERATIONS: Final = ("health", "load", "reset", "act", "act_batch", "end_episode", "unload")
WITH_ARRAYS: Final = ("act", "act_batch")
"""Operations whose messages may be large."""


class _Message(Struct, frozen=True, gc=False):
    """Base of every message and part of one."""


class ArrayText(_Message, tag_field="__evo_type__", tag="ndarray", frozen=True):
    """An array; `dtype` as numpy writes it, `data` in base64, C order."""

    dtype: str
    shape: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(max_length=MAX_ARRAY_RANK)]
    data: bytes


class Request(_Message, frozen=True):
    """From the client."""

    version: bool | int | float | str | None = None
    request_id: str = ""
    operation: str = ""
    payload: Raw = Raw(b"{}")


class Fault(_Message, frozen=True):
    """Why a request was not fulfilled."""

    operation: str = ""
    type: str = ""
    message: str = ""
    traceback: str = ""
    state: str = ""
    code: str = ""
    """proctor's own word for it; empty from other servers."""
    error_id: str = ""


class Reply(_Message, frozen=True):
    """From the server."""

    version: bool | int | float | str | None = None
    request_id: str = ""
    ok: bool = False
    result: Raw = Raw(b"null")
    error: Fault | None = None


# --- payloads --------------------------------------------------------------------------------------


class ContextPayload(_Message, frozen=True):
    """Of load and reset: a SessionContext or an EpisodeContext as a dict."""

    context: dict[str, Any]


class ObservationText(_Message, frozen=True):
    """One observation."""

    episode_id: str
    step: int
    features: Annotated[dict[str, str | ArrayText], Meta(max_length=MAX_FEATURES)]
    timestamp_s: float | None = None
    inference_index: int = 0
    seed: int | None = None


class ActPayload(_Message, frozen=True):
    """Of act."""

    observation: ObservationText


class BatchPayload(_Message, frozen=True):
    """Of act_batch."""

    observations: Annotated[tuple[ObservationText, ...], Meta(min_length=1, max_length=MAX_BATCH_ITEMS)]


class EndPayload(_Message, frozen=True):
    """Of end_episode."""

    episode_id: str


# --- results ---------------------------------------------------------------------------------------


class State(_Message, frozen=True):
    """Of reset, end_episode and unload."""

    state: str


class HealthResult(_Message, frozen=True):
    """Of health. Servers other than proctor's send the state alone."""

    state: str
    operation: str = ""
    busy_s: float = 0.0
    episodes: int = 0
    benchmark: dict[str, Any] | None = None
    capabilities: dict[str, Any] | None = None
    batching: str = "none"
    checkpoint_path: str = ""


class LoadResult(_Message, frozen=True):
    """Of load: PolicyCapabilities as a dict."""

    capabilities: dict[str, Any]


class ChunkText(_Message, frozen=True):
    """One chunk."""

    actions: ArrayText


class ActResult(_Message, frozen=True):
    """Of act."""

    action_chunk: ChunkText
