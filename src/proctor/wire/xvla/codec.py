"""Bodies of requests and replies. No sockets here.

An array travels as a string that holds `{"__numpy__": base64, "dtype": "<f4", "shape": [3]}`, for which
json_numpy is known. Servers open an image value that is any other text as a file of theirs: such a value is
never made here, whatever a mapping says.
"""

from __future__ import annotations

from collections.abc import Mapping as Map
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from proctor.errors import InvalidActionError, ProtocolError, UsageError
from proctor.limits import MAX_CHUNK_STEPS
from proctor.wire.arrays import decode_numpy_array, dtype_name
from proctor.wire.mapping import Mapping

IMAGE_KEYS: Final = ("image0", "image1", "image2")
"""What servers look for, in the order of their cameras."""

PROPRIO: Final = "proprio"

_Row = Annotated[list[float], Meta(max_length=MAX_CHUNK_STEPS)]
_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_rows: Final = msgspec.json.Decoder(Annotated[list[_Row], Meta(max_length=MAX_CHUNK_STEPS)])
_row: Final = msgspec.json.Decoder(_Row)
_text: Final = msgspec.json.Decoder(str)


class _ArrayText(msgspec.Struct, frozen=True):
    data: bytes = msgspec.field(name="__numpy__")
    dtype: str
    shape: tuple[int, ...]


_array: Final = msgspec.json.Decoder(_ArrayText)


def check_mapping(mapping: Mapping) -> None:
    """Raise `UsageError` for a mapping that these servers would misread."""
    where = f"mapping {mapping.name!r}"
    if mapping.unlisted == "canonical":
        keys = ", ".join((*IMAGE_KEYS, PROPRIO))
        raise UsageError(f"{where}: servers of X-VLA take {keys}, not canonical names; list the features")
    for image in mapping.images:
        if image.codec != "raw" or image.layout != "hwc":
            raise UsageError(
                f"{where}, key {image.key!r}: servers of X-VLA take raw hwc frames; of encoded ones they"
                " exchange red and blue"
            )
    texts = [*mapping.constants, mapping.instruction or ""]
    for key in texts:
        if key.startswith("image") or key == PROPRIO:
            raise UsageError(f"{where}: {key!r} is for an array; a text there is the name of a server's file")
    keys_of_arrays = [*(image.key for image in mapping.images), *(state.key for state in mapping.states)]
    for key in (*keys_of_arrays, *texts, mapping.actions):
        if "." in key:
            raise UsageError(f"{where}: key {key!r} enters a nested map; messages of X-VLA are flat")


def encode_request(message: Map[str, Any]) -> bytes:
    """A request's body: arrays as texts, everything else as it is. Raises `ProtocolError`."""
    fields = {
        key: array_text(value) if isinstance(value, np.ndarray) else value for key, value in message.items()
    }
    try:
        return msgspec.json.encode(fields)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ProtocolError(f"cannot be written as JSON: {error}") from None


def array_text(array: NDArray[Any]) -> str:
    """An array as json_numpy writes it. Raises `ProtocolError` for a dtype that does not travel."""
    dtype_name(array)
    return msgspec.json.encode(_ArrayText(array.tobytes(), array.dtype.str, array.shape)).decode()


def array_of(text: str) -> NDArray[Any]:
    """The inverse of `array_text`. Raises `ProtocolError` for anything else."""
    try:
        fields = _array.decode(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not an array of json_numpy: {error}") from None
    return decode_numpy_array(fields.dtype, fields.shape, fields.data)


def decode_reply(body: bytes, key: str) -> dict[str, Any]:
    """A reply's body as far as the actions at `key`: a list of rows, or one row.

    Raises `InvalidActionError` for anything else.
    """
    try:
        fields = _fields.decode(body)
    except (ValueError, RecursionError) as error:
        raise InvalidActionError(f"the reply is no JSON object: {error}") from None
    if key not in fields:
        return dict.fromkeys(list(fields)[:16])
    if bytes(fields[key]).count(b"[") > MAX_CHUNK_STEPS + 1:
        raise InvalidActionError(f"{key!r} has more than {MAX_CHUNK_STEPS} rows")
    try:
        return {key: _rows.decode(fields[key])}
    except (ValueError, RecursionError) as error:
        problem = error
    try:
        return {key: _row.decode(fields[key])}
    except (ValueError, RecursionError):
        raise InvalidActionError(f"{key!r} is no list of rows of numbers: {problem}") from None


def decode_error(body: bytes) -> str:
    """What an error's body says, empty where it says nothing that is understood."""
    for key in ("error", "detail"):
        try:
            return _text.decode(_fields.decode(body)[key])
        except (KeyError, ValueError, RecursionError):
            continue
    return ""
