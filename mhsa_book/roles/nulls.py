"""How good the best of all heads is by chance: the same search, with other partners.

Somebody who searches 72 heads in two directions finds something. So the search is repeated on
arcs whose partners were drawn anew within their sentence, and the largest share of each draw is
kept. In each direction it is the word *looked at* that is drawn anew; the looker stays.
``any_word`` draws any other word: nothing but the number of heads is left. ``as_far`` draws the
distance from those of the relation, among the words that the sentence has. So it asks what a
head would get that knows how far its partners usually stand; where there is no room for a
distance the others become likelier, so that a fixed distance does not get exactly the same
share as on the true arcs.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from mhsa_book.roles.arcs import Arcs, hits, hits_both_ways, offsets
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
    """As likely as its distance is among these arcs, if the sentence has it: (arc, word).

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

    ``likely`` says which words are drawn: ``any_word``, ``any_word_before`` or ``as_far``. In
    each direction the looked-at word is drawn, and the better direction counts.
    """
    checks.positive(n_draws=n_draws)
    generator = torch.Generator().manual_seed(seed)
    found = []
    for one_way in (arcs, arcs.turned()):
        drawn = torch.multinomial(
            likely(one_way), n_draws, replacement=True, generator=generator
        )
        found.append([_best(tops, one_way, partner) for partner in drawn.unbind(dim=1)])
    return torch.tensor(found).amax(dim=0).sort().values


def one_way_by_chance(
    tops: Tops,
    arcs: Arcs,
    likely: Callable[[Arcs], Tensor],
    *,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> Tensor:
    """``by_chance`` where only the word of an arc can look at the partner, as in a decoder."""
    checks.positive(n_draws=n_draws)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.multinomial(likely(arcs), n_draws, replacement=True, generator=generator)
    return (
        torch.tensor([_best(tops, arcs, partner) for partner in drawn.unbind(dim=1)])
        .sort()
        .values
    )


def _best(tops: Tops, arcs: Arcs, partner: Tensor) -> float:
    found = hits(tops, arcs._replace(partner=partner))
    return found.double().mean(dim=0).max().item()
