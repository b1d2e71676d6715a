"""How good the best of all heads is by chance: the same search, with other partners.

Somebody who searches 72 heads in two directions finds something. So the search is repeated on
arcs whose partners were drawn anew within their sentence, and the largest share of each draw is
kept. ``any_word`` draws any other word: nothing but the number of heads is left.
``as_far`` draws the distance from those of the relation: a head that knows how far its
partners stand, and nothing else of the words, does as well there as on the true arcs.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from mhsa_book.roles.arcs import Arcs, hits_both_ways, offsets
from mhsa_book.roles.looking import Tops
from mhsa_lib import checks

N_DRAWS = 200


def any_word(arcs: Arcs) -> Tensor:
    """Every other word is as likely: weights (arc, word), to draw a partner with.

    >>> any_word(Arcs(*torch.tensor([[0], [1], [2], [3]])))
    tensor([[1., 0., 1.]])
    """
    place = torch.arange(int(arcs.n_words.max()))
    return ((place < arcs.n_words[:, None]) & (place != arcs.word[:, None])).float()


def any_word_before(arcs: Arcs) -> Tensor:
    """Every earlier word is as likely: for pronouns, which look back; (arc, word).

    >>> any_word_before(Arcs(*torch.tensor([[0], [2], [0], [4]])))
    tensor([[1., 1., 0., 0.]])
    """
    return any_word(arcs) * (torch.arange(int(arcs.n_words.max())) < arcs.word[:, None])


def as_far(arcs: Arcs) -> Tensor:
    """As likely as its distance is among all of these arcs: (arc, word).

    >>> as_far(Arcs(*torch.tensor([[0, 0], [0, 1], [1, 3], [4, 4]])))
    tensor([[0., 1., 1., 0.],
            [0., 0., 1., 1.]])
    """
    place = torch.arange(int(arcs.n_words.max()))
    far = place - arcs.word[:, None]
    alike = (far[..., None] == offsets(arcs)).sum(dim=-1)
    return alike * any_word(arcs)


def largest(tops: Tops, arcs: Arcs) -> float:
    """Share of the arcs that the best head gets right, of all heads in both directions."""
    return hits_both_ways(tops, arcs).double().mean(dim=0).max().item()


def by_chance(
    tops: Tops,
    arcs: Arcs,
    likely: Callable[[Arcs], Tensor],
    *,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> Tensor:
    """``largest`` when the partners are drawn anew, (draw), the smallest first.

    ``likely`` says which words are drawn: ``any_word``, ``any_word_before`` or ``as_far``.
    """
    checks.positive(n_draws=n_draws)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.multinomial(likely(arcs), n_draws, replacement=True, generator=generator)
    found = [largest(tops, arcs._replace(partner=partner)) for partner in drawn.unbind(dim=1)]
    return torch.tensor(found).sort().values
