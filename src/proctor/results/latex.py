r"""Tables for a paper: `booktabs`, every cell escaped, so that no text from elsewhere can be a command."""

from __future__ import annotations

import re
from collections.abc import Sequence

from proctor.results.tables import Table

PREAMBLE = r"% needs \usepackage{booktabs,graphicx}"

_NOT_WIDER_THAN_THE_LINE = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"

_COMMANDS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    "“": "``",
    "”": "''",
    "[": "{[}",  # after a line break it would open an optional argument
    "]": "{]}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "…": r"\ldots{}",
}
_SPECIAL = re.compile("|".join(map(re.escape, _COMMANDS)))
_OPENING = re.compile(r'(?<![^\s(\[{,:])"(?=[^\s)\]},:])')


def latex_escaped(text: str) -> str:
    """Text as one line of LaTeX that reads the same and commands nothing."""
    line = _OPENING.sub("“", " ".join(text.split()))
    return _SPECIAL.sub(lambda match: _COMMANDS[match.group()], line)


def as_latex(table: Table, caption: str, notes: Sequence[str] = ()) -> str:
    """A floating table with its caption above and the notes under it, each a paragraph."""
    columns = "".join("l" if column < table.left else "r" for column in range(len(table.header)))
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{latex_escaped(caption)}}}",
            rf"  {_NOT_WIDER_THAN_THE_LINE}",
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            _row(table.header),
            r"    \midrule",
            *map(_row, table.rows),
            r"    \bottomrule",
            r"  \end{tabular}}",
            *(rf"  \par\smallskip{{\footnotesize {latex_escaped(note)}\par}}" for note in notes),
            r"\end{table}",
        ]
    )


def _row(cells: Sequence[str]) -> str:
    return f"    {' & '.join(map(latex_escaped, cells))} \\\\"
