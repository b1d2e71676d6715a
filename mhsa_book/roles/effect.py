"""What a head does: how far the vector of the sentence moves when the head is switched off.

Switched off is its output ``z``, which goes to W_O. ``ablation`` says what may take its place:
zero, its mean over the tokens of the other sentences, or its ``z`` of tokens drawn from them.
The layers behind then compute with what they get. The vector of the sentence is the mean of the
last vectors over all tokens, which is what all-MiniLM-L6-v2 was trained to make; how far it
moves is 1 less the cosine of the vectors before and after, as two sentences are compared by it.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from mhsa_book import ablation
from mhsa_lib.tracing import edit, trace

HeadsOfAll = Sequence[Tensor]
"""For every sentence the ``z`` of all heads: (layer, head, token, d_head)."""

Instead = Callable[[HeadsOfAll, int], Tensor]
"""What stands in place of every head's ``z`` in one of the sentences, in the same shape."""


def _from_others(way: Callable[[Tensor, Tensor, int], Tensor]) -> Instead:
    """Take what stands in a head's place from the other sentences; draws differ by sentence."""
    return lambda seen, i: way(
        seen[i], torch.cat([z for j, z in enumerate(seen) if j != i], dim=-2), i
    )


by_zero = _from_others(ablation.zero)
by_mean = _from_others(ablation.mean)
by_resampling = _from_others(ablation.resample)
WAYS: dict[str, Instead] = {"zero": by_zero, "mean": by_mean, "resampling": by_resampling}
"""What may stand in a head's place, by name."""


def sentence_vector(vectors: Tensor) -> Tensor:
    """The mean over all tokens, (…, d_model), of vectors (…, token, d_model).

    >>> sentence_vector(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor([0.5000, 0.5000])
    """
    return vectors.mean(dim=-2)


def outputs(layers: Sequence[nn.Module], x: Tensor) -> Tensor:
    """The ``z`` of all heads, (layer, head, token, d_head), for x (token, d_model)."""
    found = []
    for layer in layers:
        with trace(layer) as wires:
            x = layer(x)
        found.append(wires["z"])
    return torch.stack(found)


def moved(layers: Sequence[nn.Module], x: Tensor, instead: Tensor) -> Tensor:
    """How far the vector of a sentence moves without each head: (layer, head).

    ``layers`` are modules with one attention each, such as ``models.Layer``; x (token,
    d_model) enters the first; ``instead`` (layer, head, token, d_head) is what stands in the
    heads' places. The heads of a layer are switched off in one pass, each in a copy of its own.
    """
    n_layers, n_heads, n_tokens, _ = instead.shape
    if n_layers != len(layers) or n_tokens != len(x):
        raise ValueError(
            f"instead is for {n_layers} layers and {n_tokens} tokens, but there are "
            f"{len(layers)} layers and {len(x)} tokens; it has the shape of outputs(layers, x)."
        )
    changed = []
    for i, layer in enumerate(layers):
        with edit(layer, "z", partial(_one_head_a_copy, instead=instead[i])):
            rows = layer(x.expand(n_heads, *x.shape))
        for later in layers[i + 1 :]:
            rows = later(rows)
        changed.append(sentence_vector(rows))
        x = layer(x)
    whole = sentence_vector(x).double()
    return 1 - torch.cosine_similarity(torch.stack(changed).double(), whole, dim=-1)


@torch.no_grad()
def effects(
    layers: Sequence[nn.Module], inputs: Sequence[Tensor], ways: dict[str, Instead] = WAYS
) -> dict[str, Tensor]:
    """``moved`` for every sentence and way: (sentence, layer, head), by the way's name.

    ``inputs`` are what enters the first layer, (token, d_model), of at least two sentences.
    """
    if len(inputs) < 2:
        raise ValueError(
            f"{len(inputs)} sentences have no other ones to take a mean from; pass two or more."
        )
    seen = [outputs(layers, x) for x in inputs]
    return {
        name: torch.stack([moved(layers, x, way(seen, i)) for i, x in enumerate(inputs)])
        for name, way in ways.items()
    }


def _one_head_a_copy(z: Tensor, instead: Tensor) -> Tensor:
    """Head i of copy i is replaced; ``z`` is (copy, head, token, d_head)."""
    changed, i = z.clone(), torch.arange(len(z))
    changed[i, i] = instead
    return changed
