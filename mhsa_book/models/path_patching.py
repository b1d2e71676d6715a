"""Path patching: what one head tells another, or the logits, and what changes if it lies.

There are two texts of one length, ``target`` and ``source``. The sender is given what it found
in the source while everything else reads the target, and only what reaches the receiver
*directly* counts: through the stream and the MLPs, but through no other head. So every other
head is held at what it found in the target, while MLPs and norms are computed again. What the
receiver would read then is put into an ordinary pass over the target, and everything behind it
follows from that.

Source: Wang et al., "Interpretability in the Wild", section 3.1, arXiv 2211.00593;
Goldowsky-Dill et al., "Localizing Model Behavior with Path Patching", arXiv 2304.05969.
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_book.models.running import Runner
from mhsa_book.models.switching import Head
from mhsa_lib.tracing.editing import edit

Receiver = Literal["logits"] | tuple[int, int, Literal["q", "k", "v"]]
"""The logits; or a layer, a query head in it, and which of its three inputs hears it."""


@torch.no_grad()
def patched(
    runner: Runner,
    source: Sequence[int],
    target: Sequence[int],
    sender: Head,
    receiver: Any,
) -> Tensor:
    """Return the logits after the target (vocabulary), with one path patched."""
    held = runner.heads(target)
    (sent,) = runner.heads_of([source], [sender[0]])[sender[0]]
    held[sender] = sent[sender[1]]
    last = None if receiver == "logits" else receiver[0]
    stream = _stream_with(runner, target, held, last)
    if receiver == "logits":
        return runner.decoder.unembed(stream[0, -1])
    layer, head, hears = receiver
    z = _head_that_hears(runner, target, stream, layer, head, hears)

    def put(found: Tensor) -> Tensor:
        changed = found.clone()
        changed[0, head] = z
        return changed

    with edit(runner.layers[layer].attention, "z", put):
        return runner.decoder.unembed(runner.stream(target)[0, -1])


def _stream_with(runner: Runner, ids: Sequence[int], held: Tensor, last: int | None) -> Tensor:
    """The stream in front of layer ``last``, or behind all, with every head's z given."""
    x = runner.embedded([ids])
    for layer, z in zip(runner.layers[:last], held, strict=False):
        x = x + layer.attention.W_O(layer.attention.concat(z[None]))
        x = x + layer.feed_forward(layer.feed_forward_norm(x))
    return x


def _head_that_hears(
    runner: Runner, ids: Sequence[int], stream: Tensor, layer: int, head: int, hears: str
) -> Tensor:
    """The z of a head (query, d_head), one of q, k and v made of ``stream``."""
    attention = runner.layers[layer].attention
    group = attention.n_heads // attention.n_kv_heads
    place = {"q": head, "k": head // group, "v": head // group}
    with runner.listening("split") as found:
        runner.stream(ids)
    normed = runner.layers[layer].attention_norm(stream)
    heard = attention.split(*attention.project(normed, normed))
    made = {
        name: (new if name == hears else old)[:, place[name]]
        for name, new, old in zip("qkv", heard, found[layer], strict=True)
    }
    # Only this head hears: others that share its KV head go on reading the old key or value.
    return F.scaled_dot_product_attention(
        made["q"], made["k"], made["v"], is_causal=True, scale=attention.attend.scale
    )[0]
