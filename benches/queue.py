"""`claims.py` under the name of what it measures; see there.

Python looks for modules beside the script first, so every script of this folder that needs the standard
`queue` would get this file. It steps aside: imported, it is replaced by the standard module.
"""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_PATH = list(sys.path)

sys.path[:] = [place for place in sys.path if Path(place).resolve() != _HERE]
if __name__ == "__main__":
    runpy.run_path(str(_HERE / "claims.py"), run_name="__main__")
else:
    del sys.modules[__name__]
    importlib.import_module(__name__)
    sys.path[:] = _PATH
