"""MiniLM in PyTorch with heads off: the model's own layers around our stages, edited."""

from collections import defaultdict
from contextlib import ExitStack
from functools import cache

import torch

from mhsa_book.widgets.own_sentence import quantise
from mhsa_lib import edit
from mhsa_lib.tracing import trace


@cache
def layers():
    return [quantise.MODEL().layer(i) for i in range(quantise.MODEL().n_layers)]


def run(text: str, off=()) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights (layer, head, query, key) and the sentence vector with (layer, head) off."""
    x, maps, dead = quantise.MODEL().vectors(text)[1][0], [], defaultdict(list)
    for layer, head in off:
        dead[layer].append(head)
    for i, layer in enumerate(layers()):
        with torch.no_grad(), ExitStack() as changed:
            if dead[i]:
                keep = torch.ones(12, 1, 1).index_fill(0, torch.tensor(dead[i]), 0)
                changed.enter_context(edit(layer, "z", lambda z, keep=keep: z * keep))
            wires = changed.enter_context(trace(layer))
            x = layer(x)
        maps.append(wires["weights"])
    mean = x.mean(dim=0)
    return torch.stack(maps), mean / mean.norm()
