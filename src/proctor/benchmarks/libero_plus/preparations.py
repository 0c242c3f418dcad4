"""What upstream's package needs before it is imported: ImageMagick's bindings, and a place for its paths.

One kind of noise uses ImageMagick; without its library, something stands for the bindings. The package writes
down where it lies, into the home directory unless told otherwise.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Final


class _Absent(ModuleType):
    """What upstream's module names of the bindings, without the library behind them."""

    library = SimpleNamespace(MagickMotionBlurImage=SimpleNamespace())
    Image = object


def _import_or_replace() -> bool:
    try:
        import_module("wand.api")
    except ImportError:  # the bindings are there, their library is not
        sys.modules.update({name: _Absent(name) for name in ("wand", "wand.api", "wand.image")})
        return False
    return True


HAS_IMAGE_MAGICK: Final = _import_or_replace()

CONFIGURATION: Final = tempfile.TemporaryDirectory(prefix="proctor-libero-plus-")
"""As long as this process."""
