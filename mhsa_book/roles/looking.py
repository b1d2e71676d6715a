"""Where a head looks: the word with the largest weight, and how often that is at one distance.

``Tops`` are such words of many sentences in one table, (sentence, layer, head, word), with -1
where there is none: behind the end of a short sentence, or for a word without candidates.

Source: Voita et al., "Analyzing Multi-Head Self-Attention", section 5.1, arXiv 1905.09418 (a
positional head has 90 % of its largest weights at one distance); Clark et al., "What Does BERT
Look At?", section 4.2, arXiv 1906.04341 (the weight on the own word is left out).
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

Tops = Tensor
"""The words that are looked at most, (sentence, layer, head, word); -1 for none."""

POSITIONAL = 0.9
"""Share of the largest weights at one distance from which on a head is called positional."""


def tops(maps: Sequence[Tensor]) -> Tops:
    """Which other word every word looks at most; ``maps`` are (layer, head, word, word).

    The own word does not count.

    >>> tops([torch.tensor([[[[0.8, 0.2, 0.0], [0.3, 0.3, 0.4], [0.5, 0.1, 0.4]]]])])
    tensor([[[[1, 2, 0]]]])
    """
    return _tops(maps, [~torch.eye(each.shape[-1], dtype=torch.bool) for each in maps])


def tops_before(maps: Sequence[Tensor]) -> Tops:
    """Which earlier word every word looks at most; the first word looks at none, -1.

    >>> tops_before([torch.tensor([[[[0.8, 0.2, 0.0], [0.3, 0.3, 0.4], [0.5, 0.1, 0.4]]]])])
    tensor([[[[-1,  0,  0]]]])
    """
    return _tops(maps, [torch.ones(each.shape[-2:]).tril(-1).bool() for each in maps])


def at_distance(maps: Sequence[Tensor], offset: int) -> Tensor:
    """Share of the words that look most at the one ``offset`` places on: (layer, head).

    -1 is the word before, 0 the own, which counts here, 1 the next. Words that have none there,
    at the ends of a sentence, are left out. Heads with ``POSITIONAL`` or more are positional.

    >>> at_distance([torch.eye(4).roll(-1, dims=0)[None, None]], offset=1)
    tensor([[1.]])
    """
    hits = []
    for each in maps:
        top, place = each.argmax(dim=-1), torch.arange(each.shape[-1])
        there = (place + offset >= 0) & (place + offset < len(place))
        hits.append((top == place + offset)[..., there])
    found = torch.cat(hits, dim=-1)
    if not found.shape[-1]:
        raise ValueError(
            f"no word has another {offset} places on, in sentences of at most "
            f"{max((each.shape[-1] for each in maps), default=0)} words; use a smaller offset."
        )
    return found.float().mean(dim=-1)


def _tops(maps: Sequence[Tensor], allowed: Sequence[Tensor]) -> Tops:
    if not maps:
        raise ValueError("maps is empty; pass the map of at least one sentence.")
    found = []
    for each, may in zip(maps, allowed, strict=True):
        top = each.masked_fill(~may, -1).argmax(dim=-1).where(may.any(dim=-1), -1)
        found.append(top.movedim(-1, 0))
    return pad_sequence(found, batch_first=True, padding_value=-1).movedim(1, -1)
