"""The baseline's network in PyTorch, for training. `baseline_network.py` is the same in numpy, for running.

Each camera has a small convolutional encoder whose channels the instruction scales and shifts. Half of the
last channels say *where*: a softmax over the frame, and the place on the table that is seen there, from the
hand. The other half say *what*: their mean. Three layers make of it the hand's next eight velocities.
"""

from __future__ import annotations

import torch  # type: ignore[import-not-found, unused-ignore]
from baseline_geometry import LEVEL, PLANE_Z_M, REACH_M, exterior_places, wrist_offset, wrist_rays
from baseline_inputs import BUCKETS
from torch import Tensor, nn  # type: ignore[import-not-found, unused-ignore]
from torch.nn import functional  # type: ignore[import-not-found, unused-ignore]

CHUNK = 8
TWIST = 6
WORDS = 32
WIDTHS = (24, 32, 48, 64)
PLACES = WIDTHS[-1] // 2
HIDDEN = 512
SCALES_M = (0.3, 0.04)
"""A distance is shown twice: as it is, and squashed, so that near things are told apart."""
FEATURES = 2 * (2 * 2 * PLACES + PLACES) + 12 + WORDS
BLUR_M = 0.1
BLURRED = 0.5
"""In training, half of the moments show the hand elsewhere over the table: what the cameras see has to do."""


class Encoder(nn.Module):  # type: ignore[misc, unused-ignore]
    """Frames (n, 3, 72, 128) to one logit map per place and one mean per kind."""

    def __init__(self) -> None:
        super().__init__()
        one, two, three, four = WIDTHS
        self.c1 = nn.Conv2d(3, one, 5, stride=2, padding=2)
        self.c2 = nn.Conv2d(one, two, 3, stride=2, padding=1)
        self.c3 = nn.Conv2d(two, three, 3, padding=1)
        self.c4 = nn.Conv2d(three, four, 3, padding=2, dilation=2)
        self.film = nn.Linear(WORDS, 2 * (two + three + four))

    def forward(self, frames: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (n, places, grid) and means (n, places)."""
        film = self.film(words).split([2 * width for width in WIDTHS[1:]], dim=1)
        x = functional.relu(self.c1(frames))
        x = functional.relu(_modulated(self.c2(x), film[0]))
        x = functional.relu(_modulated(self.c3(x), film[1]))
        x = _modulated(self.c4(x), film[2]).float().flatten(2)
        return x[:, :PLACES], functional.relu(x[:, PLACES:]).mean(dim=2)


def _modulated(x: Tensor, film: Tensor) -> Tensor:
    scale, shift = film.unsqueeze(2).unsqueeze(3).chunk(2, dim=1)
    return x * (1 + scale) + shift


class Baseline(nn.Module):  # type: ignore[misc, unused-ignore]
    """Frames, hand, words to velocities of the hand (n, 8, 6) in units, and logits of closing (n, 8)."""

    places: Tensor
    rays: Tensor
    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Linear(BUCKETS, WORDS, bias=False)
        self.exterior, self.wrist = Encoder(), Encoder()
        self.first = nn.Linear(FEATURES, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.third = nn.Linear(HIDDEN, HIDDEN)
        self.film = nn.Linear(WORDS, 4 * HIDDEN)
        self.out = nn.Linear(HIDDEN, CHUNK * (TWIST + 1))
        self.ahead = nn.Linear(HIDDEN, 3)
        """Only for training: where the hand will be when the gripper next moves."""
        nn.init.zeros_(self.words.weight)
        self.register_buffer("places", torch.from_numpy(exterior_places()))
        self.register_buffer("rays", torch.from_numpy(wrist_rays()))
        self.register_buffer("offset", torch.from_numpy(wrist_offset()))

    def forward(
        self, exterior: Tensor, wrist: Tensor, hand: Tensor, bag: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Also returns what `ahead` says (n, 3)."""
        words = self.words(bag)
        logits, kinds = self.exterior(exterior, words)
        near = torch.einsum("npg,cg->npc", logits.softmax(dim=2), self.places) - hand[:, None, :2]
        wrist_logits, wrist_kinds = self.wrist(wrist, words)
        sight = torch.einsum("npg,cg->npc", wrist_logits.softmax(dim=2), self.rays)
        wrist_near = self._on_table(sight, hand)
        x = torch.cat(
            [*_shown(near), *_shown(wrist_near), kinds, wrist_kinds, self._proprioception(hand), words], dim=1
        )
        scale1, shift1, scale2, shift2 = self.film(words).chunk(4, dim=1)
        x = functional.relu(self.first(x) * (1 + scale1) + shift1)
        x = functional.relu(self.second(x) * (1 + scale2) + shift2)
        x = functional.relu(self.third(x))
        rows = self.out(x).unflatten(1, (CHUNK, TWIST + 1))
        return rows[..., :TWIST], rows[..., TWIST], self.ahead(x)

    def _on_table(self, sight: Tensor, hand: Tensor) -> Tensor:
        """Where lines of sight (n, places, 3) in the hand's frame meet the table, from the hand: x and y."""
        turn = hand[:, 3:12].unflatten(1, (3, 3))
        seen = torch.einsum("nij,npj->npi", turn, sight)
        camera = torch.einsum("nij,j->ni", turn, self.offset)
        depth = (hand[:, 2] + camera[:, 2] - PLANE_Z_M)[:, None] / (-seen[..., 2]).clamp(min=LEVEL)
        return (camera[:, None, :2] + depth[..., None] * seen[..., :2]).clamp(-REACH_M, REACH_M)

    def _proprioception(self, hand: Tensor) -> Tensor:
        """(n, 12): position, height twice squashed, two axes of the rotation, closedness."""
        place, height = hand[:, :2], hand[:, 2:3]
        position = torch.cat([_blurred(place) if self.training else place, height], dim=1)
        centre = position.new_tensor([0.45, 0.0, 0.15])
        columns = hand[:, 3:12].unflatten(1, (3, 3))[:, :, :2].flatten(1)
        heights = [((height - 0.02) / 0.02).tanh(), ((height - 0.08) / 0.06).tanh()]
        return torch.cat([(position - centre) / 0.2, *heights, columns, hand[:, 12:]], dim=1)


def _shown(near: Tensor) -> list[Tensor]:
    far, fine = SCALES_M
    return [near.flatten(1) / far, (near / fine).tanh().flatten(1)]


def _blurred(place: Tensor) -> Tensor:
    """Places (n, 2) of which some are off, in both directions."""
    off = BLUR_M * torch.randn_like(place)
    return place + off * (torch.rand_like(place[:, :1]) < BLURRED)
