"""The command line: one module per noun, no logic. `main` is the `proctor` command.

`proctor serve` needs the base install alone; everything else needs what `proctor[eval]` brings.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line; a user's mistake is one message, never a traceback."""
    if sys.argv[1:2] == ["serve"]:
        from proctor.cli.serve import serve

        sys.exit(serve(sys.argv[2:]))
    if find_spec("click") is None:
        print("proctor: only serve works here; the rest: pip install 'proctor[eval]'", file=sys.stderr)
        sys.exit(2)
    from proctor.cli._failures import explain
    from proctor.cli.root import root

    try:
        status = root.main(standalone_mode=False)
    except BaseException as error:
        sys.exit(explain(error))
    sys.exit(status if isinstance(status, int) else 0)
