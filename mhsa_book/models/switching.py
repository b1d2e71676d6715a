"""Heads switched off: their z is zero, their own mean, or what they found in another text.

Source: Michel et al., "Are Sixteen Heads Really Better than One?", arXiv 1905.10650 (zero);
Wang et al., "Interpretability in the Wild", section 2, arXiv 2211.00593 (mean); Chan et al.,
"Causal Scrubbing", 2022 (resampling).
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mhsa_book.models.running import Runner
from mhsa_lib.tracing.editing import edit

Head = tuple[int, int]
"""A layer and a head in it, both counted from 0."""

HOW = ("zero", "mean", "resample")


class Switches:
    """The heads of a decoder that are off, and what stands in for each."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._blocks: list[_Block] = []
        self._suspended = False

    @property
    def off(self) -> set[Head]:
        """The heads that are off now."""
        return {head for block in self._blocks for head in block.found}

    def begin(self, ids: Sequence[int], n_tokens: int) -> None:
        """Announce a text that will have ``n_tokens``: every resampling block draws for it."""
        for block in self._blocks:
            block.draw(ids, n_tokens)

    @contextmanager
    def without(
        self, heads: Sequence[Head], how: str, texts: Sequence[Sequence[int]], seed: int
    ) -> Iterator[None]:
        """Keep heads off while the block runs, with ``texts`` to be averaged or drawn from."""
        if both := sorted(self.off & {*heads}):
            raise ValueError(f"heads {both} are off already; leave them out in here.")
        self._suspended = True  # what heads find is measured with all of them on
        try:
            found = _found(self._runner, heads, texts) if how != "zero" else {}
        finally:
            self._suspended = False
        zero = [torch.zeros(1, self._runner.layers[0].attention.d_head)]
        block = _Block(how, {head: found.get(head, zero) for head in heads}, texts, seed)
        with ExitStack() as stack:
            for layer in sorted({layer for layer, _ in heads}):
                change = partial(self._changed, block, layer)
                stack.enter_context(edit(self._runner.layers[layer].attention, "z", change))
            self._blocks.append(block)
            stack.callback(self._blocks.remove, block)
            yield

    def _changed(self, block: "_Block", layer: int, z: Tensor) -> Tensor:
        if self._suspended:
            return z
        first = self._runner.first
        changed = z.clone()
        for of_layer, head in block.found:
            if of_layer == layer:
                instead = block.instead((layer, head), first, first + z.shape[-2])
                changed[..., head, :, :] = instead.to(z)
        return changed


class _Block:
    """One with block: ``found`` is what each of its heads found in each of its texts."""

    def __init__(
        self,
        how: str,
        found: Mapping[Head, list[Tensor]],
        texts: Sequence[Sequence[int]],
        seed: int,
    ) -> None:
        self.how, self.found, self.texts = how, found, texts
        self.random = random.Random(seed)  # torch's would differ from device to device
        self.drawn = 0
        self.mean = {head: torch.cat(z).mean(dim=0) for head, z in found.items()}

    def draw(self, ids: Sequence[int], n_tokens: int) -> None:
        if self.how != "resample":
            return
        others = [i for i, text in enumerate(self.texts) if [*text] != [*ids]]
        long = [i for i in others if len(self.texts[i]) >= n_tokens]
        if not long:
            lengths = sorted(len(self.texts[i]) for i in others)
            raise ValueError(
                f"a text of {n_tokens} tokens needs a prompt in over that is another and at "
                f"least as long; those in over have {lengths}: give longer ones, or how='mean'."
            )
        self.drawn = self.random.choice(long)

    def instead(self, head: Head, first: int, last: int) -> Tensor:
        if self.how == "resample":
            return self.found[head][self.drawn][first:last]
        return self.mean[head]


def _found(
    runner: Runner, heads: Sequence[Head], texts: Sequence[Sequence[int]]
) -> dict[Head, list[Tensor]]:
    """The z of heads in every text, each (token, d_head)."""
    found = runner.heads_of(texts, sorted({layer for layer, _ in heads}))
    # Copied, so that the heads of a layer that stay on are let go.
    return {(layer, head): [z[head].clone() for z in found[layer]] for layer, head in heads}


def checked_over(how: str, over: Any) -> Sequence[str]:
    """Return the prompts to average or to draw from; raise for those that cannot be used.

    >>> checked_over("mean", None)
    Traceback (most recent call last):
    ...
    ValueError: how='mean' averages over prompts; pass over=[…], a list of texts.
    """
    if how not in HOW:
        raise ValueError(f"how={how!r} is none of {', '.join(HOW)}.")
    if how == "zero":
        return []
    if isinstance(over, str):
        raise TypeError(f"over is one string; pass a list of texts, [{over!r}, …].")
    if not over:
        does = "averages over" if how == "mean" else "draws from"
        raise ValueError(f"how={how!r} {does} prompts; pass over=[…], a list of texts.")
    return [*over]
