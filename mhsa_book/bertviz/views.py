"""BertViz's head view and model view, safe to keep in a page.

BertViz writes a page with a random id, asks a CDN for three libraries, and pastes tokens into
a script as they are. Here its template is filled again: the id is a digest of the content, the
libraries come from addresses of your choice, tokens stay data, and the view lives in a frame of
its own, where the ids it repeats do not meet those of the page. A script in the frame could
reach the page, though: in a sandbox the frame of an opened file would not find its libraries.

Source: Vig, "A Multiscale Visualization of Attention in the Transformer Model",
arXiv 1906.05714; bertviz 1.4.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mhsa_book.bertviz.page import Template, installed
from mhsa_book.bertviz.view import LIBRARIES, View, label, rounded


def head_view(
    weights: Any,
    tokens: Sequence[str],
    libraries: str | Sequence[str] = LIBRARIES,
    layer: int = 0,
) -> View:
    """Draw lines between tokens for the heads of one layer; the reader may choose another.

    ``weights`` is (layer, head, query, key) of self-attention, or (head, query, key) for one
    layer, as a tensor or an array, or what models of transformers return, a tuple with
    (1, head, query, key) for each layer. ``libraries`` is the address of a folder with
    ``require.min.js``, ``d3.min.js`` and ``jquery.min.js``, or several to try in order. Raises
    ``ValueError`` if shapes, tokens or ``layer`` do not fit, or weights lie outside [0, 1];
    ``TypeError`` for what is no weights; ``ImportError`` without bertviz.

    >>> import torch
    >>> head_view(torch.eye(2).expand(3, 4, 2, 2), ["I", "see"])
    BertViz head view: 3 layers, 4 heads, 2 tokens
    """
    weights = _checked(weights, tokens)
    if not 0 <= layer < len(weights):
        raise ValueError(f"layer={layer} does not exist; weights have 0 to {len(weights) - 1}.")
    html = _bertviz("head_view", weights, tokens, layer=layer)
    return _view("head view", html, weights, tokens, libraries, height=23 * len(tokens) + 90)


def model_view(
    weights: Any, tokens: Sequence[str], libraries: str | Sequence[str] = LIBRARIES
) -> View:
    """Draw every head of every layer in small; a click shows one in large.

    Arguments and errors are those of ``head_view``.

    >>> import torch
    >>> model_view(torch.eye(2).expand(3, 4, 2, 2), ["I", "see"])
    BertViz model view: 3 layers, 4 heads, 2 tokens
    """
    weights = _checked(weights, tokens)
    n_layers, n_heads, n_tokens, _ = weights.shape
    small, large = n_layers * (84 * n_tokens / n_heads + 10) + 40, 18 * n_tokens + 60
    html = _bertviz("model_view", weights, tokens, display_mode="light")
    height = round(max(small, large)) + 50
    return _view("model view", html, weights, tokens, libraries, height)


def _checked(weights: Any, tokens: Sequence[str]) -> Tensor:
    if isinstance(weights, tuple | list) and all(isinstance(w, Tensor) for w in weights):
        weights = _stacked(weights)
    try:
        weights = torch.as_tensor(weights)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"weights are a {type(weights).__name__}; pass a tensor (layer, head, query, key), "
            f"or outputs.attentions of a model with attn_implementation='eager', called with "
            f"output_attentions=True."
        ) from error
    given = tuple(weights.shape)
    if weights.ndim == 3:
        weights = weights[None]
    if weights.ndim != 4 or not weights.numel():
        raise ValueError(f"weights {given} are not (layer, head, query, key).")
    n_query, n_key = weights.shape[-2:]
    if n_query != n_key or len(tokens) != n_query:
        raise ValueError(
            f"{len(tokens)} tokens for weights {given}: self-attention has one token for each "
            f"of its {n_query} queries and {n_key} keys. For cross-attention call bertviz: "
            f"head_view(cross_attention=…, encoder_tokens=…, decoder_tokens=…)."
        )
    weights = weights.detach().cpu().double()
    if not ((weights >= -1e-3) & (weights <= 1 + 1e-3)).all():
        raise ValueError(f"weights {given} hold NaN or numbers outside [0, 1].")
    return weights


def _stacked(layers: Sequence[Tensor]) -> Tensor:
    """What transformers returns, one (batch, head, query, key) a layer, as one tensor."""
    shapes = sorted({tuple(layer.shape) for layer in layers})
    if len(shapes) != 1:
        raise ValueError(
            f"the layers have weights {shapes}; pass those of one kind, the encoder's or the "
            f"decoder's, and layers of the same number of heads."
        )
    weights = torch.stack([layer.detach().cpu() for layer in layers])
    if weights.ndim == 5:
        if weights.shape[1] != 1:
            raise ValueError(
                f"weights of {weights.shape[1]} sequences; choose one, "
                f"[layer[0] for layer in outputs.attentions]."
            )
        weights = weights[:, 0]
    return weights


def _bertviz(view: str, weights: Tensor, tokens: Sequence[str], **options: Any) -> str:
    """Bertviz's own HTML. It takes a list of (1, head, query, key)."""
    draw = getattr(installed(), view)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its template open
        html = draw(
            [layer[None] for layer in weights], list(tokens), html_action="return", **options
        )
    return html.data


def _view(
    kind: str,
    html: str,
    weights: Tensor,
    tokens: Sequence[str],
    libraries: str | Sequence[str],
    height: int,
) -> View:
    template = Template.read(html)
    data = template.params["attention"][0]
    data["attn"] = rounded(weights.clamp(0, 1))
    data["left_text"] = data["right_text"] = [label(token) for token in data["left_text"]]
    return View.of(kind, template, tuple(weights.shape), tokens, libraries, height)
