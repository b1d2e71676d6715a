"""Every head of a translator by its name, and three ways to switch some of them off.

Switched off is the output of a head, its ``z``: nothing of the sentence is left in it. What
takes its place is a choice, see ``ablation``; tokens are drawn from any sentence and any place.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mhsa_book import ablation
from mhsa_book.examples import language
from mhsa_book.transformer import PAD, EncoderDecoder, shifted
from mhsa_lib.tracing import edit, trace

KINDS = {
    "encoder self-attention": "encoder.{}.self_attention",
    "decoder self-attention": "decoder.{}.self_attention",
    "cross-attention": "decoder.{}.cross_attention",
}
"""The three uses of attention, and where in the model the one of a layer is found."""

SHORT = dict(zip(KINDS, ("encoder", "decoder", "cross"), strict=True))


class Head(NamedTuple):
    """A head by its kind, layer and number.

    >>> Head("cross-attention", 1, 2)
    cross L1H2
    """

    kind: str
    layer: int
    head: int

    @property
    def path(self) -> str:
        """Where its attention is found in the model."""
        return KINDS[self.kind].format(self.layer)

    def __repr__(self) -> str:
        return f"{SHORT[self.kind]} L{self.layer}H{self.head}"


Change = Callable[[Tensor], Tensor]
Instead = Callable[[Head], Change]
"""What stands in a head's place: from its ``z`` (…, query, d_head) to another one."""

HeadOutputs = dict[Head, Tensor]
"""For every head the ``z`` (token, d_head) of many tokens."""


def heads_of(model: EncoderDecoder, *kinds: str) -> tuple[Head, ...]:
    """All heads of a model, or those of some kinds, in the order in which they run.

    >>> from mhsa_book.transformer import EncoderDecoder
    >>> heads_of(EncoderDecoder(9, 8, 6, d_model=4, n_heads=2, n_layers=1), "cross-attention")
    (cross L0H0, cross L0H1)
    """
    if unknown := set(kinds) - set(KINDS):
        raise ValueError(f"{unknown.pop()!r} is no kind of attention; choose from {[*KINDS]}.")
    return tuple(
        Head(kind, layer, head)
        for kind in KINDS
        if kind in (kinds or KINDS)
        for layer in range(len(model.encoder))
        for head in range(_n_heads(model, KINDS[kind].format(layer)))
    )


@torch.no_grad()
def head_outputs(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> HeadOutputs:
    """The ``z`` of every head at every token of some pairs, padding left out.

    >>> model = EncoderDecoder(len(language.SOURCE), len(language.TARGET), 13)
    >>> found = head_outputs(model, language.translations("rolan ot meti balo"))
    >>> found[heads_of(model)[0]].shape
    torch.Size([16, 16])
    """
    source, target = language.batch(pairs)
    given, wanted = shifted(target)
    heads = heads_of(model)
    paths = dict.fromkeys(head.path for head in heads)
    with ExitStack() as stack:
        wires = {p: stack.enter_context(trace(model.get_submodule(p))) for p in paths}
        model(source, given)
    real = {"encoder": source != PAD, "decoder": wanted != PAD}
    return {
        head: wires[head.path]["z"][:, head.head][real[head.path.split(".")[0]]]
        for head in heads
    }


def by_zero(head: Head) -> Change:
    """Nothing at all."""
    return torch.zeros_like


def by_mean(found: HeadOutputs) -> Instead:
    """Return what puts the mean over the given tokens, the same vector, everywhere."""
    return lambda head: partial(ablation.mean, others=found[head])


def by_resampling(found: HeadOutputs, seed: int = 0) -> Instead:
    """Return what puts the ``z`` of a token drawn from the given ones, another at every token.

    The draws depend on ``seed`` and the head alone: every call of the same size draws the same.
    """
    order = {head: 1000 * seed + i for i, head in enumerate(found)}
    return lambda head: partial(ablation.resample, others=found[head], seed=order[head])


@contextmanager
def without(
    model: EncoderDecoder, heads: Iterable[Head], instead: Instead = by_zero
) -> Iterator[None]:
    """Switch heads off while the block runs; ``instead`` says what stands in their place.

    Raises ``ValueError`` for a head that the model does not have.

    >>> from mhsa_book.transformer import EncoderDecoder
    >>> model = EncoderDecoder(9, 8, 6, d_model=4, n_heads=2, n_layers=1)
    >>> source, given = torch.tensor([[5, 3, 4]]), torch.tensor([[1, 5]])
    >>> whole = model(source, given)
    >>> with without(model, heads_of(model, "cross-attention")):
    ...     blind = model(source, given)
    >>> torch.equal(blind, model(source, given)), torch.equal(whole, model(source, given))
    (False, True)
    """
    changes: dict[str, dict[int, Change]] = {}
    known = heads_of(model)
    for head in heads:
        if head not in known:
            raise ValueError(f"the model has no head {head}; it has {known}.")
        changes.setdefault(head.path, {})[head.head] = instead(head)
    with ExitStack() as stack:
        for path, change in changes.items():
            stack.enter_context(edit(model.get_submodule(path), "z", partial(_put, change)))
        yield


def _n_heads(model: EncoderDecoder, path: str) -> int:
    attention: Any = model.get_submodule(path)
    return attention.n_heads


def _put(changes: dict[int, Change], z: Tensor) -> Tensor:
    changed = z.clone()
    for head, change in changes.items():
        changed[..., head, :, :] = change(z[..., head, :, :])
    return changed
