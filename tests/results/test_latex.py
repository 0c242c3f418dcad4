from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from proctor.results.latex import PREAMBLE, as_latex, latex_escaped
from proctor.results.tables import Table

TABLE = Table(("task", "success"), (("pick_place", "95%"), ("a & b", "–")))


def test_a_table_has_rules_caption_and_notes() -> None:
    assert as_latex(TABLE, "Run #1", ("n = 20",)).splitlines() == [
        r"\begin{table}",
        r"  \centering",
        r"  \caption{Run \#1}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        r"  \begin{tabular}{lr}",
        r"    \toprule",
        r"    task & success \\",
        r"    \midrule",
        r"    pick\_place & 95\% \\",
        r"    a \& b & -- \\",
        r"    \bottomrule",
        r"  \end{tabular}}",
        r"  \par\smallskip{\footnotesize n = 20\par}",
        r"\end{table}",
    ]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("$x^2$ ~", r"\$x\textasciicircum{}2\$ \textasciitilde{}"),
        ("policy<=10", r"policy\textless{}=10"),
        ("[38, 96]", "{[}38, 96{]}"),
        ("50% % comment\nnext", r"50\% \% comment next"),
        ("−3 × ≥", r"$-$3 $\times$ $\geq$"),
        ("plain text", "plain text"),
        ('say "so" and ("so") and ["a","b"]', "say ``so'' and (``so'') and {[}``a'',``b''{]}"),
        ("“so”, `run`", r"``so'', \textasciigrave{}run\textasciigrave{}"),
    ],
)
def test_text_from_elsewhere_commands_nothing(text: str, safe: str) -> None:
    assert latex_escaped(text) == safe


@pytest.mark.process
@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="needs pdflatex (apt-get install texlive-latex-recommended)"
)
@pytest.mark.parametrize("columns", [2, 20], ids=["narrow", "wide"])
def test_latex_sets_it_within_the_line(columns: int, tmp_path: Path) -> None:
    table = Table(
        ("a header of some length",) * columns, (('"quoted" [1, 2] \\x ≤ 5 % – #_^~$|`',) * columns,)
    )
    packages = PREAMBLE.removeprefix("% needs ")
    document = [
        r"\documentclass{article}",
        packages,
        r"\begin{document}",
        as_latex(table, "C", ("n",)),
        r"\end{document}",
    ]
    (tmp_path / "paper.tex").write_text("\n".join(document))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout
