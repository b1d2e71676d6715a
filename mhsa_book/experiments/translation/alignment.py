"""Which source word a target word comes from: what attention says, and what is known.

Every table is (sentence, token, source word), one number for each pair of words. ``missed``
compares it with the gold alignment of the language.

Source: Kobayashi et al., "Attention is Not Only a Weight", arXiv 2004.10102 (norms of what
arrives instead of weights, and the alignment error of a translator).
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from mhsa_book.examples import language
from mhsa_book.experiments.translation.worth import nats_of
from mhsa_book.transformer import PAD, EncoderDecoder, Memory, shifted
from mhsa_lib import masks
from mhsa_lib.tracing import trace


def gold(pairs: Sequence[language.Pair]) -> Tensor:
    """True where a target word translates a source word, (sentence, token, source word).

    >>> gold(language.translations("rolan ot meti balo")[:1])[0].nonzero().tolist()
    [[1, 3], [2, 1], [2, 3], [3, 2], [4, 0]]
    """
    source, target = language.batch(pairs)
    table = torch.zeros(*target.shape, source.shape[-1], dtype=torch.bool)
    for sentence, pair in enumerate(pairs):
        for place, word in enumerate(pair.words):
            for at in word.aligned:
                table[sentence, place, at] = True
    return table


def missed(table: Tensor, aligned: Tensor) -> Tensor:
    """Share of the aligned words whose largest number stands at another word's source.

    ``table`` is (…, sentence, token, source word), the share (…).

    >>> aligned = torch.tensor([[[True, False], [False, True], [False, False]]])
    >>> missed(torch.tensor([[[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]]]), aligned).item()
    0.5
    """
    known = aligned.any(dim=-1)
    largest = table.argmax(dim=-1, keepdim=True)
    hit = aligned.expand_as(table).gather(-1, largest)[..., 0]
    return (~hit[..., known]).double().mean(dim=-1)


@torch.no_grad()
def weights(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> Tensor:
    """Cross-attention's weights, (layer, head, sentence, token, source word).

    >>> model = EncoderDecoder(len(language.SOURCE), len(language.TARGET), 13)
    >>> weights(model, language.translations("rolan ot meti balo")).shape
    torch.Size([2, 4, 4, 7, 4])
    """
    return torch.stack([layer.transpose(0, 1) for layer, _ in _watched(model, pairs)])


@torch.no_grad()
def norms(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> Tensor:
    """Length of what a head brings from a word, ‖a·v·W_O‖, in the shape of ``weights``.

    >>> model = EncoderDecoder(len(language.SOURCE), len(language.TARGET), 13)
    >>> norms(model, language.translations("rolan ot meti balo")).shape
    torch.Size([2, 4, 4, 7, 4])
    """
    found = []
    for layer, brought in _watched(model, pairs):
        found.append((layer * brought.norm(dim=-1)[:, :, None]).transpose(0, 1))
    return torch.stack(found)


@torch.no_grad()
def together(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> Tensor:
    """Length of what all heads of a layer bring from a word, (layer, sentence, token, source).

    Their vectors are added before the length is taken, as the layer does.

    >>> model = EncoderDecoder(len(language.SOURCE), len(language.TARGET), 13)
    >>> together(model, language.translations("rolan ot meti balo")).shape
    torch.Size([2, 4, 7, 4])
    """
    return torch.stack(
        [
            torch.einsum("bhqk,bhkd->bqkd", layer, brought).norm(dim=-1)
            for layer, brought in _watched(model, pairs)
        ]
    )


@torch.no_grad()
def hidden(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> Tensor:
    """Nats that a word costs more when no head may look at one row of the memory.

    −∞ at the source's padding, which is hidden anyway.

    >>> model = EncoderDecoder(len(language.SOURCE), len(language.TARGET), 13)
    >>> hidden(model, language.translations("rolan ot meti balo")).shape
    torch.Size([4, 7, 4])
    """
    source, target = language.batch(pairs)
    given, wanted = shifted(target)
    rows, mask = model.encode(source)
    whole = nats_of(model.decode(given, Memory(rows, mask)), wanted)
    columns = []
    for place in range(source.shape[-1]):
        others = masks.custom(lambda query, key, place=place: key != place)
        shown = others if mask is None else mask & others
        columns.append(nats_of(model.decode(given, Memory(rows, shown)), wanted) - whole)
    padding = (source == PAD)[:, None]
    return torch.stack(columns, dim=-1).masked_fill(padding, -torch.inf)


def by_position(known: Sequence[language.Pair], pairs: Sequence[language.Pair]) -> Tensor:
    """How often a place was aligned with a source place in the pairs that are known.

    Only sentences with a source of the same length count, so this guess knows both lengths and
    no word. In the shape of ``gold``.

    >>> pairs = language.translations("rolan ot meti balo")
    >>> by_position(pairs, pairs)[0, 1].tolist()
    [0.0, 0.0, 0.0, 2.0]
    """
    seen: Counter[tuple[int, int, int]] = Counter(
        (len(pair.source), place, at)
        for pair in known
        for place, word in enumerate(pair.words)
        for at in word.aligned
    )
    table = torch.zeros(gold(pairs).shape)
    for sentence, pair in enumerate(pairs):
        for place in range(len(pair.words)):
            for at in range(len(pair.source)):
                table[sentence, place, at] = seen[len(pair.source), place, at]
    return table


def _watched(
    model: EncoderDecoder, pairs: Sequence[language.Pair]
) -> list[tuple[Tensor, Tensor]]:
    """Weights of each cross-attention, and the values v·W_O (sentence, head, key, d_model)."""
    source, target = language.batch(pairs)
    found = []
    with ExitStack() as stack:
        layers: list[Any] = [*model.decoder]
        attentions = [layer.cross_attention for layer in layers]
        wires = [stack.enter_context(trace(attention)) for attention in attentions]
        model(source, shifted(target)[0])
    for attention, seen in zip(attentions, wires, strict=True):
        values = seen["v_heads"]
        W_O = attention.W_O.weight.T.unflatten(0, (values.shape[1], values.shape[-1]))
        found.append((seen["weights"], torch.einsum("bhkd,hdo->bhko", values, W_O)))
    return found
