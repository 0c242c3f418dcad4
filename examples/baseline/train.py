"""Trains the baseline by imitation, and writes `weights.safetensors`.

    TORCH_PYTHON examples/baseline/train.py

where TORCH_PYTHON is the python of an environment made from `requirements.in`, with `src` on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]
from baseline_vectors import NAME as VECTORS
from baseline_vectors import Inputs, inputs
from demonstrations import Samples, load
from model import Baseline
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, distributed, multiprocessing, nn  # type: ignore[import-not-found, unused-ignore]
from torch.nn import functional  # type: ignore[import-not-found, unused-ignore]

HERE = Path(__file__).parent
RATE = 1e-3
WARM_UP = 200
DECAY = 1e-4
EMA = 0.999
ROTATION_WEIGHT = 0.5
PATH_WEIGHT = 0.5
GRIP_WEIGHT = 0.2
AHEAD_WEIGHT = 0.3
AHEAD_M = 0.3
TINT = 0.25
"""Deviation of the logarithm of each colour's brightness: lamps are warm or cold."""
FORGOTTEN = 0.2
"""Share of the words that are left out."""


@dataclass(frozen=True)
class Recipe:
    """How long and with what."""

    steps: int
    batch: int
    """Moments of one step, over all processes."""
    seed: int
    processes: int
    """Each takes its share of every batch; gradients are averaged."""


class Batches:
    """Endless batches; a task's share goes with the root of how many moments it has."""

    def __init__(self, samples: Samples, size: int, seed: int) -> None:
        self._samples, self._size = samples, size
        self._random = np.random.default_rng(seed)
        weights = 1 / np.sqrt(np.bincount(samples.task)[samples.task])
        self._sums = np.cumsum(weights / weights.sum())

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        while True:
            drawn = np.searchsorted(self._sums, self._random.random(self._size))
            rows = drawn.clip(max=len(self._samples) - 1)
            yield {
                name: torch.from_numpy(getattr(self._samples, name)[rows])
                for name in ("frames", "hand", "bag", "twists", "closed", "ahead")
            }


def disturbed(frames: Tensor) -> Tensor:
    """Frames (n, 72, 128, 3) uint8 as (n, 3, 72, 128) under other light, with patches that mean nothing.

    In the end each has mean 0 and deviation 1, as `baseline_inputs.normalised` does it.
    """
    n, height, width, _ = frames.shape
    mix = torch.diag_embed(torch.exp(TINT * torch.randn(n, 3))) + 0.06 * torch.randn(n, 3, 3)
    mix *= torch.empty(n, 1, 1).uniform_(0.6, 1.4) / 255
    shift = torch.empty(n, 1, 3).uniform_(-0.08, 0.08)
    pixels = torch.baddbmm(shift, frames.flatten(1, 2).float(), mix)
    _cover(pixels.view(n, height, width, 3))
    deviation, mean = torch.std_mean(pixels, dim=(1, 2), keepdim=True, correction=0)
    return ((pixels - mean) / (deviation + 0.05)).view(n, height, width, 3).permute(0, 3, 1, 2)


def _cover(pixels: Tensor) -> None:
    """Paint rectangles of one colour each into most of the frames."""
    n, height, width, _ = pixels.shape
    chosen = torch.randint(n, (n,))
    corners = torch.stack([torch.randint(height - 1, (n,)), torch.randint(width - 1, (n,))], dim=1)
    sizes = torch.randint(2, 9, (n, 2))
    colours = torch.rand(n, 3)
    for frame, (y, x), (rows, columns), colour in zip(
        chosen.tolist(), corners.tolist(), sizes.tolist(), colours, strict=True
    ):
        pixels[frame, y : y + rows, x : x + columns] = colour


def disturbed_hand(hand: Tensor) -> Tensor:
    """The hand as a worse sensor would see it."""
    noise = torch.zeros_like(hand)
    noise[:, :3].normal_(std=0.002)
    noise[:, 12].normal_(std=0.01)
    return hand + noise


def forgotten(bag: Tensor) -> Tensor:
    """Instructions with a word missing here and there."""
    return bag * (torch.rand_like(bag) > FORGOTTEN)


def loss_of(model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, list[float]]:
    """The loss of one batch, and its parts."""
    frames, hand, bag = batch["frames"], batch["hand"], batch["bag"]
    exterior, wrist = disturbed(frames[:, 0]), disturbed(frames[:, 1])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        twists, grip, ahead = model(exterior, wrist, disturbed_hand(hand), forgotten(bag))
    error = twists.float() - batch["twists"].clamp(-2, 2)
    weight = torch.tensor([1.0] * 3 + [ROTATION_WEIGHT] * 3)
    steps = (error.abs() * weight).mean()
    path = (error.cumsum(dim=1).abs() * weight).mean() / 4
    closing = functional.binary_cross_entropy_with_logits(grip.float(), batch["closed"])
    goal = (ahead.float() - batch["ahead"] / AHEAD_M).abs().mean()
    loss = steps + PATH_WEIGHT * path + GRIP_WEIGHT * closing + AHEAD_WEIGHT * goal
    return loss, [part.item() for part in (steps, path, closing, goal)]


def train(samples: Samples, recipe: Recipe, process: int, out: Path) -> Baseline:
    """The network, averaged over its last steps; every thousand steps it is written to `out` as well."""
    torch.manual_seed(recipe.seed)
    model = Baseline().to(memory_format=torch.channels_last)
    average: Baseline = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, recipe.steps))
    torch.manual_seed(recipe.seed + process)
    batches = Batches(samples, recipe.batch // recipe.processes, recipe.seed + process)
    started, parts = time.monotonic(), []
    for step, batch in zip(range(1, recipe.steps + 1), batches, strict=False):
        parts.append(_step(model, optimizer, batch))
        schedule.step()
        _follow(average, model, min(EMA, step / (10 + step)))
        if process == 0 and step % 100 == 0:
            shown = " ".join(f"{part:.4f}" for part in np.mean(parts, axis=0))
            print(f"step {step} of {recipe.steps}, {time.monotonic() - started:.0f} s: {shown}", flush=True)
            parts = []
        if process == 0 and step % 1000 == 0:
            export(average, out)
    return average


def _step(model: Baseline, optimizer: torch.optim.Optimizer, batch: dict[str, Tensor]) -> list[float]:
    loss, parts = loss_of(model, batch)
    optimizer.zero_grad()
    loss.backward()
    _share_gradients(model)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return parts


def _share_gradients(model: Baseline) -> None:
    """Put the average over all processes in the place of every gradient."""
    gradients = [parameter.grad for parameter in model.parameters()]
    together = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(together)
    together /= distributed.get_world_size()
    sizes = [gradient.numel() for gradient in gradients]
    for gradient, average in zip(gradients, together.split(sizes), strict=True):
        gradient.copy_(average.view_as(gradient))


def _rate(step: int, steps: int) -> float:
    return min(1.0, (step + 1) / WARM_UP) * 0.5 * (1 + math.cos(math.pi * step / steps))


def _follow(average: Baseline, model: Baseline, keep: float) -> None:
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, 1 - keep)


def export(model: Baseline, file: Path) -> None:
    """Write what running takes as half-precision safetensors."""
    wanted = {name: array for name, array in model.state_dict().items() if not name.startswith("ahead.")}
    save_file({name: array.contiguous().half() for name, array in wanted.items()}, file)


def write_vectors(weights: Path) -> None:
    """Keep beside them what the network of `weights` answers to fixed inputs; the one in numpy must agree."""
    model = Baseline()
    model.load_state_dict({name: array.float() for name, array in load_file(weights).items()}, strict=False)
    model.eval()
    with torch.no_grad():
        answers = [model(*(torch.from_numpy(array)[None] for array in _arrays(case))) for case in inputs()]
    kept = [{"twists": twists[0].tolist(), "grip": grip[0].tolist()} for twists, grip, _ in answers]
    weights.with_name(VECTORS).write_text(json.dumps(kept) + "\n")


def _arrays(case: Inputs) -> tuple[NDArray[np.float32], ...]:
    exterior, wrist = (np.ascontiguousarray(frame.transpose(2, 0, 1)) for frame in case[:2])
    return exterior, wrist, case.hand, case.bag


def _run(process: int, options: argparse.Namespace, meeting: str) -> None:
    """One of the processes that train together; the first one writes the result."""
    torch.set_num_threads(1)
    recipe = Recipe(options.steps, options.batch, options.seed, options.processes)
    distributed.init_process_group("gloo", init_method=meeting, rank=process, world_size=recipe.processes)
    samples = load(options.demonstrations, options.task)
    if process == 0:
        print(f"{len(samples)} moments", flush=True)
    model = train(samples, recipe, process, options.out)
    if process == 0:
        export(model, options.out)
        write_vectors(options.out)
    distributed.destroy_process_group()


def main() -> None:
    """Train on everything recorded."""
    parser = argparse.ArgumentParser(description="Trains the baseline on recorded demonstrations.")
    parser.add_argument("--demonstrations", type=Path, default=HERE / "demonstrations")
    parser.add_argument("--out", type=Path, default=HERE / "weights.safetensors")
    parser.add_argument("--task", action="append", help="only this task; may be given again")
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2, help="of one thread each (default 2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        meeting = f"file://{folder}/meeting"
        multiprocessing.spawn(_run, (options, meeting), nprocs=options.processes)


if __name__ == "__main__":
    main()
