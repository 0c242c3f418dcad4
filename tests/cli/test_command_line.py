"""The command line: quick help, one message for a mistake, exit statuses a script can tell apart."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from proctor import errors
from proctor.cli._failures import explain
from proctor.cli.root import NOUNS, root
from proctor.errors import ProctorError
from proctor.launch.exit_codes import ExitCode


def test_help_lists_every_noun() -> None:
    page = CliRunner().invoke(root, ["--help"]).output
    assert all(noun in page for noun in NOUNS)


@pytest.mark.parametrize("noun", sorted(NOUNS))
def test_every_noun_has_help(noun: str) -> None:
    result = CliRunner().invoke(root, [noun, "--help"])
    assert result.exit_code == 0
    assert "Commands:" in result.output


def test_help_imports_no_noun() -> None:
    program = (
        "import sys; sys.argv = ['proctor', '--help']\n"
        "from proctor.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith(('numpy', 'msgspec', 'sqlalchemy', 'rich'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_mistyped_noun_names_the_nearest() -> None:
    with pytest.raises(errors.UnknownNameError, match="did you mean 'bench'"):
        root.main(["bnech"], standalone_mode=False)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.UsageError("episodes 0: must be at least 1"), ExitCode.USAGE),
        (errors.UnknownNameError("task", "pcik", ["pick"]), ExitCode.USAGE),
        (errors.PolicyLoadError("no weights"), ExitCode.POLICY),
        (errors.VersionChangedError("benchmark.toml changed"), ExitCode.CONFORMANCE),
        (errors.EnvironmentMissing("not built"), ExitCode.ENVIRONMENT),
        (errors.CoordinatorGone("silent"), ExitCode.ENVIRONMENT),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    ],
)
def test_each_class_of_error_has_its_status(
    error: BaseException, status: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(error) == status
    assert re.fullmatch(r"proctor: \S.*\n", capsys.readouterr().err)


def test_every_error_of_the_tree_has_a_status() -> None:
    tree = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ProctorError)
    ]
    unexplained = set()
    for kind in set(tree) - {ProctorError}:
        try:
            explain(kind.__new__(kind))
        except kind:
            unexplained.add(kind)
    assert unexplained == set()


def test_an_unexpected_error_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        explain(ZeroDivisionError())
