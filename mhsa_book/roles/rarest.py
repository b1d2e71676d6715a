"""The rarest word: some heads look at the least frequent word of the sentence.

We have no counts of a corpus. What stands in for them is BERT's own vocabulary: whole words are
listed there roughly from the frequent to the rare, so a larger id is taken for a rarer word,
and a word that is not in the list, so that it had to be cut into pieces, for rarer than all
others; among those, the largest id of a piece decides. This order is a proxy, and a coarse one.

Source: Voita et al., "Analyzing Multi-Head Self-Attention", section 5.3, arXiv 1905.09418
(there by counts; the rarest of a sentence, or one of the two rarest).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mhsa_book.roles.looking import Tops
from mhsa_lib import checks


def rarest(tokens: Sequence[str], ids: Sequence[int], belongs: Tensor, n: int = 1) -> Tensor:
    """True at the ``n`` rarest words, (word), by the pieces of a sentence and their ids.

    ``belongs`` is (word, piece), what ``words.aligned`` returns. A cut word has a piece that
    goes on, "##ti"; an apostrophe or a hyphen inside a word does not make it rare.

    >>> belongs = torch.tensor([[0, 1, 0, 0], [0, 0, 1, 0]])
    >>> rarest(["[CLS]", "the", "cat", "[SEP]"], [101, 1996, 4937, 102], belongs)
    tensor([False,  True])
    """
    checks.positive(n=n)
    if not len(tokens) == len(ids) == belongs.shape[-1] or n >= len(belongs):
        raise ValueError(
            f"{len(tokens)} tokens and {len(ids)} ids for {belongs.shape[-1]} pieces, n={n} "
            f"rarest of {len(belongs)} words; pass a token and an id for each piece, and an n "
            f"below the number of words."
        )
    largest = (belongs * torch.tensor(ids)).amax(dim=-1)
    goes_on = torch.tensor([token.startswith("##") for token in tokens])
    cut = (belongs * goes_on).any(dim=-1)
    order = largest + cut * (largest.max() + 1)
    found = torch.zeros(len(belongs), dtype=torch.bool)
    found[order.topk(n).indices] = True
    return found


def on_rarest(tops: Tops, rare: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Whether every word looks most at a rare one: hits, chances, sentences.

    ``rare`` has what ``rarest`` returns for every sentence. Hits are (word, layer, head) over
    the words of all sentences that have a rare word beside themselves; chances, (word), are
    those of a head that looks at any other word; sentences, (word), are their numbers. So
    ``halves.judged(hits, {"chance": chances}, sentences)`` reports the head of one half on
    the other.

    >>> tops, rare = torch.tensor([[[[1, 2, 0]]]]), torch.tensor([False, True, False])
    >>> hits, chances, _ = on_rarest(tops, [rare])
    >>> hits.flatten().tolist(), chances.tolist()
    ([True, False], [0.5, 0.5])
    """
    if len(tops) != len(rare):
        raise ValueError(
            f"tops of {len(tops)} sentences, rare words of {len(rare)}; pass the same "
            f"sentences."
        )
    hits, chances, sentences = [], [], []
    for i, (top, is_rare) in enumerate(zip(tops, rare, strict=True)):
        others = is_rare.sum() - is_rare.long()
        asks = others > 0
        hits.append(is_rare[top[..., : len(is_rare)]].movedim(-1, 0)[asks])
        chances.append(others[asks] / (len(is_rare) - 1))
        sentences.append(torch.full((int(asks.sum()),), i))
    return torch.cat(hits), torch.cat(chances), torch.cat(sentences)
