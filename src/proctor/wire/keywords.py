"""`NAME=JSON` on a command line."""

from __future__ import annotations

import argparse
import json
from typing import Any


def keyword(text: str) -> tuple[str, Any]:
    """A keyword argument: its name and its JSON value, as a type of `argparse`."""
    name, separator, value = text.partition("=")
    if not separator or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=JSON")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"value of {name} is not JSON: {error}") from None
