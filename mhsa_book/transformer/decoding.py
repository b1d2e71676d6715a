"""Write a translation word by word: everything computed again, or with both caches.

``greedy`` asks for the logits of the next word and takes the likeliest. Where they come from
is passed in: ``recomputing`` gives the decoder all words so far, ``remembering`` only the last
one, with a cache that grows in every self-attention, and keys and values of the memory that are
made once in every cross-attention. The numbers are the same.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mhsa_book.transformer.ids import BOS, EOS, PAD
from mhsa_book.transformer.model import EncoderDecoder
from mhsa_lib.cache import kv_cache

NextWord = Callable[[Tensor], Tensor]
"""Logits (sentence, word) for the word after the words so far, (sentence, token)."""


class Translation(NamedTuple):
    """What was written, and why.

    ``ids`` (sentence, token) end with ``EOS``, then ``PAD``; ``logits`` (sentence, token, word)
    are those that each was chosen from.
    """

    ids: Tensor
    logits: Tensor


@contextmanager
def recomputing(model: EncoderDecoder, source: Tensor) -> Iterator[NextWord]:
    """The decoder reads all words so far, every time; the source is encoded once.

    >>> model = EncoderDecoder(9, 8, 6, d_model=12, n_heads=3)
    >>> with recomputing(model, torch.tensor([[5, 3, 4]])) as next_word:
    ...     next_word(torch.tensor([[1, 5]])).shape
    torch.Size([1, 8])
    """
    memory = model.encode(source)
    yield lambda target: model.decode(target, memory)[..., -1, :]


@contextmanager
def remembering(model: EncoderDecoder, source: Tensor) -> Iterator[NextWord]:
    """The decoder reads the last word alone and remembers the rest.

    Every call has one word more than the call before. ``TypeError`` or ``ValueError`` for a
    model whose attentions show no stages (``kv_cache``); ``to_attention`` gives those of
    a fused one.

    >>> model = EncoderDecoder(9, 8, 6, d_model=12, n_heads=3)
    >>> with remembering(model, torch.tensor([[5, 3, 4]])) as next_word:
    ...     next_word(torch.tensor([[1]])).shape, next_word(torch.tensor([[1, 5]])).shape
    (torch.Size([1, 8]), torch.Size([1, 8]))
    """
    memory, decoder = model.encode(source), _Decoder(model)
    with kv_cache(decoder, context=memory.rows) as cache:

        def next_word(target: Tensor) -> Tensor:
            n_before = target.shape[-1] - 1
            if cache.n_tokens != n_before:
                raise ValueError(
                    f"{cache.n_tokens} words are remembered, but {n_before + 1} came; give one "
                    f"more than before, or open another block."
                )
            return decoder(target[..., -1:], memory, first=n_before)[..., -1, :]

        yield next_word


class _Decoder(nn.Module):
    """What a cache has to hear called as a whole: one word through all layers."""

    def __init__(self, model: EncoderDecoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **options: Any) -> Tensor:
        return self.model.decode(*args, **options)


@torch.no_grad()
def greedy(
    model: EncoderDecoder,
    source: Tensor,
    way: Callable[[EncoderDecoder, Tensor], AbstractContextManager[NextWord]] = remembering,
) -> Translation:
    """The likeliest word after the words so far, again and again, until each sentence ends.

    ``source`` (sentence, token). A sentence that has said ``EOS`` goes on with ``PAD`` until
    all have, or ``model.n_positions`` are full; one that is cut there has no ``EOS``. ``PAD``
    and ``BOS`` are never chosen. A model with dropout inside its attentions should be in
    evaluation mode. Raises ``ValueError`` for a source that is not (sentence, token).

    >>> _ = torch.manual_seed(0)
    >>> model = EncoderDecoder(9, 8, 6, d_model=12, n_heads=3)
    >>> source = torch.tensor([[5, 3, 4]])
    >>> one, other = greedy(model, source), greedy(model, source, recomputing)
    >>> torch.equal(one.ids, other.ids), torch.allclose(one.logits, other.logits, atol=1e-5)
    (True, True)
    """
    if source.ndim != 2 or not len(source):
        raise ValueError(
            f"source has shape {tuple(source.shape)}; pass at least one sentence, "
            f"(sentence, token)."
        )
    target = torch.full_like(source[:, :1], BOS)
    ended = torch.zeros_like(target, dtype=torch.bool)
    said = []
    with way(model, source) as next_word:
        while target.shape[-1] <= model.n_positions and not ended.all():
            said.append(next_word(target))
            word = _likeliest(said[-1]).to(target.dtype).masked_fill(ended, PAD)
            target = torch.cat([target, word], dim=-1)
            ended |= word == EOS
    return Translation(target[:, 1:], torch.stack(said, dim=1))


def _likeliest(logits: Tensor) -> Tensor:
    never = torch.tensor([PAD, BOS], device=logits.device)
    return logits.index_fill(-1, never, -torch.inf).argmax(dim=-1, keepdim=True)
