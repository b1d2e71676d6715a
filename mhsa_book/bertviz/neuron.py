"""BertViz's neuron view: how a query and a key make a weight, coordinate by coordinate.

BertViz fills it from models that it brings along, of 2019. Here it is filled from the queries
and keys of any trace; the weights are computed from them, so that no two numbers of the view
can disagree.

Source: Vig, "A Multiscale Visualization of Attention in the Transformer Model", section 3.3,
arXiv 1906.05714; bertviz 1.4.
"""

import math
from collections.abc import Sequence
from importlib.resources import files

from torch import Tensor

from mhsa_book.bertviz.page import Template, installed
from mhsa_book.bertviz.view import LIBRARIES, View, label, rounded
from mhsa_lib import functional, masks


def neuron_view(
    q_heads: Tensor,
    k_heads: Tensor,
    tokens: Sequence[str],
    layer: int = 0,
    head: int = 0,
    libraries: str | Sequence[str] = LIBRARIES,
    *,
    scale: float | None = None,
    mask: masks.Predicate | Tensor | None = None,
) -> View:
    """Draw queries, keys, their products and the softmax of one head; point at a token.

    ``q_heads`` and ``k_heads`` are (layer, head, query, d_head) of self-attention, stacked from
    the wires of traces, or (head, query, d_head) for one layer; with RoPE take ``q_rotated``
    and ``k_rotated``. The reader may choose another layer or head of those that are given.
    ``libraries`` is as in ``head_view``. The weights are softmax(scale · q·k), where ``scale``
    is 1/√d_head unless given, over the keys that ``mask`` allows, by default all of them.

    A view takes about 15 bytes for each layer, head, token and coordinate, and 7 for each
    weight: 16 tokens in 6 layers of 12 heads of 32 are 0.7 MB. Where that is too much, pass
    one layer.

    Raises ``ValueError`` if shapes, tokens, ``layer``, ``head``, ``scale`` or ``mask`` do not
    fit, or numbers are not finite; ``ImportError`` without bertviz.

    >>> import torch
    >>> from mhsa_lib import MultiHeadAttention, trace
    >>> attention = MultiHeadAttention(d_model=12, n_heads=3)
    >>> with trace(attention) as wires:
    ...     y = attention(torch.randn(2, 12))
    >>> neuron_view(wires["q_heads"], wires["k_heads"], ["I", "see"], head=2)
    BertViz neuron view: 1 layers, 3 heads, 2 tokens
    """
    q, k = _checked(q_heads, k_heads, tokens)
    n_layers, n_heads, n_tokens, d_head = q.shape
    for name, index, n in ("layer", layer, n_layers), ("head", head, n_heads):
        if not 0 <= index < n:
            raise ValueError(f"{name}={index} does not exist; choose one from 0 to {n - 1}.")
    scale = d_head**-0.5 if scale is None else scale
    if not math.isfinite(scale):
        raise ValueError(f"scale={scale} is not finite; leave it out for 1/√d_head.")
    shape = n_layers, n_heads, n_tokens, n_tokens
    allowed = masks.resolve(mask, shape, q.device)
    if allowed is not None:
        allowed = allowed.cpu().expand(shape)
    bertviz = installed()
    text = [label(token) for token in bertviz.util.format_special_chars(tokens)]
    attention = {
        "attn": rounded(functional.softmax(functional.score(q, k, scale), allowed)),
        "queries": rounded(q),
        "keys": rounded(k),
        "left_text": text,
        "right_text": text,
    }
    params = {
        "attention": {"all": attention},
        "default_filter": "all",
        "bidirectional": allowed is None or bool(allowed.triu(1).any()),
        "display_mode": "light",
        "layer": layer,
        "head": head,
        "scale": scale,
    }
    script = files(bertviz).joinpath("neuron_view.js").read_text(encoding="utf-8")
    template, height = Template.neuron(script, params), 26 * n_tokens + 170
    return View.of("neuron view", template, shape, tokens, libraries, height)


def _checked(q: Tensor, k: Tensor, tokens: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Queries and keys with four axes, in double precision."""
    given = f"q_heads {tuple(q.shape)} and k_heads {tuple(k.shape)}"
    if q.ndim not in (3, 4) or not q.numel():
        raise ValueError(
            f"{given} are not (layer, head, query, d_head), nor (head, query, d_head) for one "
            f"layer; join layers with torch.stack."
        )
    if q.shape != k.shape:
        raise ValueError(
            f"{given} differ: self-attention has a key for each query, equally wide; where "
            f"heads share keys, repeat them with functional.share_heads(k_heads, n_heads)."
        )
    if len(tokens) != q.shape[-2]:
        raise ValueError(
            f"{len(tokens)} tokens for {given}: self-attention has one token for each of its "
            f"{q.shape[-2]} queries; pass the tokens of the same text."
        )
    q, k = (heads.detach().cpu().double() for heads in (q, k))
    if not (q.isfinite().all() and k.isfinite().all()):
        raise ValueError(f"{given} hold NaN or infinity; find out where with trace.")
    return (q[None], k[None]) if q.ndim == 3 else (q, k)
