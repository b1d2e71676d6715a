"""One small task for every exhibit: go on with a pattern whose period is announced.

A text begins with "3" or "5"; then come so many random letters, and these again and again. To
say the next letter an attention has to find the announcement, wherever the text begins, and the
letter that stands three or five places back. It needs positions, several heads, and a mask:
texts of several lengths are padded on the left.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from mhsa_book.museum.parts import Inputs, Parts, Setting, run
from mhsa_book.museum.parts import step_by_step as in_steps
from mhsa_book.museum.right import Cache, Matrices

PAD, PERIODS, LETTERS = 0, (3, 5), 8
FIRST = 1 + len(PERIODS)
N_TOKENS = FIRST + LETTERS
BATCH, SEQ, SHORTEST, D_MODEL = 16, 16, 11, 32


class Texts(NamedTuple):
    """Tokens (batch, seq + 1), and which of them an attentive reader can know beforehand."""

    ids: Tensor
    known: Tensor


def texts(generator: torch.Generator, batch: int = BATCH, shortest: int = SHORTEST) -> Texts:
    """Texts of ``shortest`` to 17 tokens, padded on the left.

    >>> texts(torch.Generator().manual_seed(0), batch=1).ids.tolist()
    [[0, 0, 0, 1, 8, 3, 6, 8, 3, 6, 8, 3, 6, 8, 3, 6, 8]]
    """
    period = torch.randint(len(PERIODS), (batch, 1), generator=generator)
    length = torch.randint(shortest, SEQ + 2, (batch, 1), generator=generator)
    letters = torch.randint(FIRST, N_TOKENS, (batch, max(PERIODS)), generator=generator)
    place = torch.arange(SEQ + 1) - (SEQ + 1 - length)  # 0 at the announcement
    often = torch.tensor(PERIODS)[period]
    ids = letters.gather(1, (place - 1).clamp_min(0) % often)
    ids = ids.where(place != 0, 1 + period).where(place >= 0, PAD)
    return Texts(ids, place > often)


class Map(nn.Module):
    """A map and its bias, to be trained."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(len(weight)))


class Reader(nn.Module):
    """Embed, one attention made of parts, a feed-forward part, and scores for every token."""

    def __init__(self, parts: Parts, setting: Setting, generator: torch.Generator) -> None:
        super().__init__()
        self.parts, self.setting = parts, setting
        self.losses: list[float] = []
        few = D_MODEL * setting.n_kv_heads // setting.n_heads
        rows = (D_MODEL, few, few, D_MODEL)
        drawn = [parts.begin(D_MODEL, setting.n_heads, generator)[:n] for n in rows]
        self.maps = parts.register([Map(each) for each in drawn])
        self.table = nn.Parameter(torch.zeros(setting.n_heads, 4 * SEQ + 1))
        self.tokens = nn.Parameter(torch.randn(N_TOKENS, D_MODEL, generator=generator))
        self.feed = nn.Sequential(nn.Linear(D_MODEL, 64), nn.GELU(), nn.Linear(64, D_MODEL))
        self.scores = nn.Linear(D_MODEL, N_TOKENS)

    def forward(self, ids: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        """Scores (batch, seq, token), and what a cache holds now."""
        x = self.tokens[ids]
        real = ids != PAD if cache is None else None  # only whole texts are padded
        given = Inputs(self.parts.normalise(x), self._W(), real=real, table=self.table)
        passed = run(self.parts, self.setting, given, cache=cache, training=self.training)
        x = x + passed.output
        return self.scores(x + self.feed(x)), passed.cache

    def _W(self) -> Matrices:
        maps = [*self.maps]
        return Matrices(*(m.weight for m in maps), *(m.bias for m in maps[:3]))

    @torch.no_grad()
    def map_of(self, ids: Tensor, step_by_step: bool = False) -> Tensor:
        """The weights for texts without padding, (batch, head, query, key)."""
        x = self.parts.normalise(self.tokens[ids])
        given = Inputs(x, self._W(), real=ids != PAD, table=self.table)
        if step_by_step:
            return in_steps(self.parts, self.setting, given).weights
        return run(self.parts, self.setting, given).weights

    @torch.no_grad()
    def read(self, found: Texts) -> float:
        """Share of the known tokens that it says, with all tokens before them given."""
        said = self(found.ids[:, :-1])[0].argmax(dim=-1)
        hit = said == found.ids[:, 1:]
        return hit[found.known[:, 1:]].double().mean().item()

    @torch.no_grad()
    def write(self, found: Texts, n_given: int) -> float:
        """The same, with its own words after the first, a cache, and another text before.

        After two words of its own, neighbours change places, as beams do.
        """
        cache = self.parts.forget(self(found.ids[:, :n_given].flip(0))[1])
        scores, cache = self(found.ids[:, :n_given], cache)
        order, hits = torch.arange(len(found.ids)), []
        for place in range(n_given, SEQ + 1):
            said = scores[:, -1].argmax(dim=-1)
            hits.append(said == found.ids[order, place])
            if place == n_given + 1:
                beams = torch.arange(len(order)).view(-1, 2).flip(1).flatten()
                cache, order, said = self.parts.reorder(cache, beams), order[beams], said[beams]
            scores, cache = self(said[:, None], cache)
        return torch.stack(hits).double().mean().item()
