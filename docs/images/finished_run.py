"""Draws finished-run.svg: the demo's first evaluation, as a terminal shows it half way and at its end.

python docs/images/finished_run.py
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from proctor.cli._progress import draw
from proctor.coordinator.progress import Progress
from proctor.launch.evaluation import run_evaluation
from proctor.launch.request import Callbacks, EvaluationRequest

HERE = Path(__file__).resolve().parent
COMMAND = (
    "$ proctor bench eval aloha-sim-v1 --run demo-aloha --episodes 10 --workers 2 \\\n"
    "    --policy examples/policies/aloha_expert.py:AlohaExpert --policy-arg blur_mm=12"
)


def main() -> None:
    """Run it, keeping one look at the progress, and write the picture."""
    looks: list[Progress] = []
    with tempfile.TemporaryDirectory() as runs:
        request = EvaluationRequest(
            policy=f"{HERE.parents[1] / 'examples/policies/aloha_expert.py'}:AlohaExpert",
            policy_args={"blur_mm": 12, "look": "images.top"},
            benchmark="aloha-sim-v1",
            name="demo-aloha",
            episodes=10,
            workers=2,
            run_directory=runs,
        )
        results = run_evaluation(request, Callbacks(progress=looks.append))
    half_way = next(look for look in looks if look.completed >= 8 and all(w.episode_id for w in look.workers))
    console = Console(record=True, width=94, file=io.StringIO())
    console.print(Text(COMMAND, style="bold"))
    console.print(draw(half_way, speed=half_way.completed / (0.5 * (looks.index(half_way) + 1))))
    console.print(Text(f"\n{results}\n\noutcome_hash {results.outcome_hash}"))
    (HERE / "finished-run.svg").write_text(console.export_svg(title="proctor"))


if __name__ == "__main__":
    main()
