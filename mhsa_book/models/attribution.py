"""What every part of a decoder adds to one logit: direct logit attribution.

The stream behind the last layer is a sum: the embedding, what each head wrote and what each MLP
wrote. The last norm divides it by one number and the unembedding is linear, so with that number
held fixed each part adds its share of the logit, and the shares sum to it. They are direct
effects only: what later layers made of a part counts as theirs.

Source: Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021;
nostalgebraist, "Interpreting GPT: the Logit Lens", 2020.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mhsa_book.models.running import Runner
from mhsa_lib.tracing.hooks import Hooks


class Contributions(NamedTuple):
    """Shares of the logit of one token, after the last token of a text, in logits."""

    logit: float
    """What they sum to."""

    embedding: float
    """Of the last token itself."""

    heads: Tensor
    """Of every head (layer, head)."""

    mlps: Tensor
    """Of every MLP (layer)."""


@torch.no_grad()
def contributions(runner: Runner, ids: Sequence[int], token: int) -> Contributions:
    """Return the shares of the logit of ``token``, an id, after a text."""
    mlps: list[Tensor] = []
    with runner.listening("concat") as concat, Hooks(runner.decoder) as hooks:
        for layer in runner.layers:
            hooks.after(layer.feed_forward, lambda m, args, out: mlps.append(out[0, -1]))
        last = runner.stream(ids)[0, -1]
    norm, table = runner.decoder.norm, runner.decoder.embed.weight
    # norm(x) is x / rms · gain, and rms is held fixed: one direction for every part.
    eps = 0.0 if norm.eps is None else norm.eps
    direction = norm.weight * table[token] * (last.square().mean() + eps).rsqrt()
    heads = []
    for layer, rows in zip(runner.layers, concat, strict=True):
        n_heads = layer.attention.n_heads
        toward = (direction @ layer.attention.W_O.weight).unflatten(0, (n_heads, -1))
        heads.append((rows[0, -1].unflatten(0, (n_heads, -1)) * toward).sum(dim=-1))
    return Contributions(
        logit=float(runner.decoder.unembed(last)[token]),
        embedding=float(runner.embedded([ids[-1:]])[0, 0] @ direction),
        heads=torch.stack(heads),
        mlps=torch.stack(mlps) @ direction,
    )
