"""Four ways to put the heads of a trained model in an order: the first is the last to go.

Each looks at pairs that neither training nor the test has, and none is told which task a word
tests: what counts is the loss of all words, as in training.

Source: importance, Michel, Levy and Neubig, section 4.1, arXiv 1905.10650, and their code
    (github.com/pmichel31415/are-16-heads-really-better-than-1); confidence, Voita et al.,
    section 5.1, arXiv 1905.09418.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from mhsa_book.examples import language
from mhsa_book.experiments.pruning.removal import paths
from mhsa_book.experiments.translation import Head, heads_of, nats, without
from mhsa_book.transformer import PAD, EncoderDecoder, shifted
from mhsa_lib.tracing import edit, trace

Pairs = Sequence[language.Pair]

Order = tuple[Head, ...]
"""All heads of a model; the first is the last to be removed."""


def importance(model: EncoderDecoder, pairs: Pairs) -> dict[Head, float]:
    """I_h = E abs(z · dL/dz): by how much the loss of a token's z would change to first order.

    The absolute value is taken token by token, then the mean over the real tokens of the side
    that asks; L is the loss summed over words. At last the heads of one attention are divided
    by the root of the sum of their squares, as the authors do, so that layers can be compared.

    >>> from mhsa_book.experiments.translation import learning
    >>> found = importance(learning.untrained(seed=0), language.pairs(4))
    >>> round(sum(found[head] ** 2 for head in heads_of(learning.untrained(0))[:4]), 3)
    1.0
    """
    source, target = language.batch(pairs)
    given, wanted = shifted(target)
    tokens = {"encoder": int((source != PAD).sum()), "decoder": int((wanted != PAD).sum())}
    ones: dict[str, Tensor] = {}

    def watched(path: str) -> Callable[[Tensor], Tensor]:
        def times_one(z: Tensor) -> Tensor:
            ones[path] = torch.ones(*z.shape[:-1], 1, requires_grad=True)
            return z * ones[path]

        return times_one

    with torch.enable_grad(), ExitStack() as stack:
        for path in paths(model):
            stack.enter_context(edit(model.get_submodule(path), "z", watched(path)))
        logits = model(source, given)
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(end_dim=-2), wanted.flatten(), ignore_index=PAD, reduction="sum"
        )
        slopes = torch.autograd.grad(loss, [ones[path] for path in paths(model)])
    found: dict[str, Tensor] = {}
    for path, slope in zip(paths(model), slopes, strict=True):
        mean = slope.abs().sum(dim=(0, 2, 3)) / tokens[path.split(".")[0]]
        found[path] = mean / (mean.norm() + 1e-20)
    return {head: found[head.path][head.head].item() for head in heads_of(model)}


def confidence(model: EncoderDecoder, pairs: Pairs) -> dict[Head, float]:
    """The mean over tokens of a head's largest weight.

    The paper leaves out the weight on the end of a sentence, which is no key here: a source is
    its words, and what a decoder is given begins with ``BOS`` and has no end.

    >>> from mhsa_book.experiments.translation import learning
    >>> found = confidence(learning.untrained(seed=0), language.pairs(4))
    >>> all(0 < value < 1 for value in found.values())
    True
    """
    source, target = language.batch(pairs)
    given, wanted = shifted(target)
    real = {"encoder": source != PAD, "decoder": wanted != PAD}
    with torch.no_grad(), ExitStack() as stack:
        wires: Mapping[str, Any] = {
            path: stack.enter_context(trace(model.get_submodule(path))) for path in paths(model)
        }
        model(source, given)
    largest = {path: wires[path]["weights"].amax(dim=-1) for path in paths(model)}
    return {
        head: largest[head.path][:, head.head][real[head.path.split(".")[0]]].mean().item()
        for head in heads_of(model)
    }


def greedy(model: EncoderDecoder, pairs: Pairs) -> Order:
    """Take away, again and again, the head without which the rest loses least.

    >>> from mhsa_book.transformer import EncoderDecoder
    >>> sizes = len(language.SOURCE), len(language.TARGET), 13
    >>> model = EncoderDecoder(*sizes, d_model=4, n_heads=2, n_layers=1)
    >>> sorted(greedy(model, language.pairs(4))) == sorted(heads_of(model))
    True
    """
    gone: list[Head] = []
    left = [*heads_of(model)]

    def loss(head: Head) -> float:
        with without(model, [*gone, head]):
            return nats(model, pairs).sum().item()

    while left:
        least = min(left, key=loss)
        left.remove(least)
        gone.append(least)
    return tuple(reversed(gone))


def by_chance(model: EncoderDecoder, seed: int) -> Order:
    """All heads in an order that is drawn.

    >>> from mhsa_book.experiments.translation import learning
    >>> model = learning.untrained(seed=0)
    >>> by_chance(model, 1) == by_chance(model, 1) != by_chance(model, 2)
    True
    """
    heads = heads_of(model)
    generator = torch.Generator().manual_seed(seed)
    return tuple(heads[i] for i in torch.randperm(len(heads), generator=generator).tolist())


def best_first(worth: Mapping[Head, float]) -> Order:
    """Heads by what they are worth, the most first; of equals the earlier.

    >>> heads = Head("cross-attention", 0, 0), Head("cross-attention", 0, 1)
    >>> best_first(dict(zip(heads, (0.1, 0.9))))
    (cross L0H1, cross L0H0)
    """
    return tuple(sorted(worth, key=lambda head: -worth[head]))
