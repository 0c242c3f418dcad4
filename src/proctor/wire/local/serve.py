"""`python -m proctor.wire.local.serve`: serve one policy, named on the command line, until told to stop.

Prints `{"socket": PATH}` on standard output once clients can connect; the log goes to standard error. Exit
status 0 after SIGTERM or unload, 2 for a wrong argument, 4 if the policy cannot be made.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from typing import Any

from proctor.errors import PolicyFault, UsageError
from proctor.policy.loading import make_policy
from proctor.wire.keywords import keyword
from proctor.wire.local.address import default_socket_path
from proctor.wire.local.server import PolicyServer, serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, and return the exit status."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        policy = make_policy(options.policy, _arguments(options))
        server = PolicyServer(policy, options.socket, accept_batching=options.accept_batching)
        server.listen()
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except PolicyFault as error:
        print(f"error: {error}", file=sys.stderr)
        return 4
    print(json.dumps({"socket": str(server.socket_path)}), flush=True)
    serve(server)
    return 0


def _arguments(options: argparse.Namespace) -> dict[str, Any]:
    if not options.policy_args_on_stdin:
        return dict(options.policy_arg)
    try:
        arguments = json.loads(sys.stdin.buffer.readline())
    except ValueError as error:
        raise UsageError(f"policy arguments on standard input are not JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise UsageError(f"policy arguments on standard input must be an object, got {arguments!r}")
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m proctor.wire.local.serve", description="Serve one policy."
    )
    parser.add_argument("--policy", required=True, metavar="SPEC", help="file.py:Class or module:Class")
    parser.add_argument(
        "--policy-arg", action="append", default=[], type=keyword, metavar="NAME=JSON", help="keyword for it"
    )
    parser.add_argument(
        "--policy-args-on-stdin",
        action="store_true",
        help="read all keywords as one line, a JSON object: what stands there is in no process list",
    )
    parser.add_argument("--socket", default=default_socket_path(), metavar="PATH", help="where to listen")
    parser.add_argument(
        "--accept-batching",
        action="store_true",
        help="merge concurrent requests although the policy does not promise batch invariance",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
