"""The factor on the dot product against the width of a head: spread, saturation, gradient."""

import math
from typing import Any

import torch
from torch import Tensor
from traitlets import Enum, Float, Int, TraitError, validate

from mhsa_book import measure, plots
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, number
from mhsa_lib import functional

TOKENS, WIDEST = 64, 1024
COLDEST, HOTTEST = 0.01, 10_000
WORD = 0xFFFFFFFF


class ScaleLab(Figure):
    """64 random queries meet 64 random keys, for a width of head and a factor to choose.

    Traits that the reader changes too: ``d_head`` (1 to 1024), ``scale`` ("1",
    "1/sqrt(d_head)", "1/d_head" or "1/temperature"), ``temperature`` (0.01 to 10,000) and
    ``seed``. Components of queries and keys are independent with mean 0 and variance 1; a
    narrower head uses the first components of a wider one.

    Raises ``TraitError`` for a value outside these.

    >>> lab = ScaleLab(d_head=256, scale="1")
    >>> round(lab.scores.var().item()), lab.weights.shape
    (261, torch.Size([64, 64]))
    """

    d_head = Int(64, min=1, max=WIDEST).tag(sync=True)
    scale = Enum(["1", "1/sqrt(d_head)", "1/d_head", "1/temperature"], "1").tag(sync=True)
    temperature = Float(8.0).tag(sync=True)
    seed = Int(0, min=0, max=9999).tag(sync=True)

    @validate("temperature")
    def _temperature_is_positive(self, proposal: Any) -> float:
        if not COLDEST <= proposal.value <= HOTTEST:
            raise TraitError(
                f"temperature={proposal.value} must lie between {COLDEST} and {HOTTEST}."
            )
        return proposal.value

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        return super().rules() | {"temperature": number(COLDEST, HOTTEST)}

    @property
    def factor(self) -> float:
        """The number that every dot product is multiplied with."""
        powers = {"1": 0.0, "1/sqrt(d_head)": -0.5, "1/d_head": -1.0}
        if self.scale in powers:
            return self.d_head ** powers[self.scale]
        return 1 / self.temperature

    @property
    def scores(self) -> Tensor:
        """Scaled dot products of the drawn queries and keys, (query, key), float64."""
        queries, keys = normals(self.seed, 2 * TOKENS * WIDEST).view(2, 1, TOKENS, WIDEST)
        return functional.score(
            queries[..., : self.d_head], keys[..., : self.d_head], self.factor
        )[0]

    @property
    def weights(self) -> Tensor:
        """What the softmax makes of the scores, (query, key)."""
        return torch.softmax(self.scores, dim=-1)

    @property
    def alt(self) -> str:
        weights = self.weights
        share = measure.entropy(weights).mean() / math.log(TOKENS)
        return (
            f"The sorted weights of one query on {TOKENS} keys, d_head {self.d_head}, scale "
            f"{self.scale}: the largest is {weights[0].max():.2f}. Over all queries the "
            f"entropy is {share:.0%} of its largest value."
        )

    def still(self) -> None:
        ranks = list(range(1, TOKENS + 1))
        curves = {
            "weights": self.weights[0].sort(descending=True).values.tolist(),
            "all equal": [1 / TOKENS] * TOKENS,
        }
        plots.curves(ranks, curves, "key, largest weight first", "weight")


def normals(seed: int, count: int) -> Tensor:
    """Normal numbers, the same for a seed as ``normals`` of ``saturation.js`` draws.

    >>> normals(0, 20_000).var().round(decimals=1).item()
    1.0
    """
    even = (_mixed(seed, torch.arange(count + count % 2)) + 0.5) / 2**32
    radius, angle = (-2 * even[::2].log()).sqrt(), 2 * math.pi * even[1::2]
    pairs = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=-1)
    return pairs.flatten()[:count]


def _mixed(seed: int, i: Tensor) -> Tensor:
    """Numbers from 0 to 2³² − 1 that look random: the mixing at the end of MurmurHash3."""
    h = i ^ ((seed + 1) * 0x9E3779B1 & WORD)
    h = (h ^ (h >> 16)) * 0x85EBCA6B & WORD
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & WORD
    return (h ^ (h >> 16)).double()
