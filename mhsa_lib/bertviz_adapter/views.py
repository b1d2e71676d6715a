"""BertViz's head view and model view, safe to keep in a page.

BertViz writes a page with a random id, asks a CDN for three libraries, and pastes tokens into
a script as they are. Here its template is filled again: the id is a digest of the content, the
libraries come from addresses of your choice, tokens stay data, and the view lives in a frame of
its own, where neither its scripts nor the ids it repeats can touch the page around it.

Source: Vig, "A Multiscale Visualization of Attention in the Transformer Model",
arXiv 1906.05714; bertviz 1.4.
"""

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from torch import Tensor

from mhsa_lib.bertviz_adapter import page as bertviz_page

LIBRARIES = ("../vendor", bertviz_page.CDN)
"""Addresses tried in order: beside the pages of the book first, then, as in Colab, the CDN."""

LONGEST_TOKEN = 13
"""Characters of a token that fit beside the lines; the rest becomes "…"."""


@dataclass(frozen=True)
class View:
    """A BertViz view as HTML; it draws itself in a notebook.

    ``id`` depends on the content alone. ``page`` is the document inside the frame, ``shape`` is
    (layer, head, query, key), ``height`` is in pixels.
    """

    kind: str
    id: str
    shape: tuple[int, ...]
    height: int
    page: str

    def __repr__(self) -> str:
        n_layers, n_heads, n_tokens, _ = self.shape
        return f"BertViz {self.kind}: {n_layers} layers, {n_heads} heads, {n_tokens} tokens"

    def _repr_html_(self) -> str:
        title = f"{self!r}. Lines join each token with the tokens it looks at."
        style = f"width:100%;height:{self.height}px;border:0;background:#fff;color-scheme:light"
        return (
            f'<iframe id="{self.id}-frame" title="{escape(title)}" style="{style}" '
            f'srcdoc="{escape(self.page)}"></iframe>'
        )


def head_view(
    weights: Tensor,
    tokens: Sequence[str],
    libraries: str | Sequence[str] = LIBRARIES,
    layer: int = 0,
) -> View:
    """Draw lines between tokens for the heads of one layer; the reader may choose another.

    ``weights`` is (layer, head, query, key) of self-attention, or (head, query, key) for one
    layer. ``libraries`` is the address of a folder with ``require.min.js``, ``d3.min.js`` and
    ``jquery.min.js``, or several to try in order. Raises ``ValueError`` if shapes, tokens or
    ``layer`` do not fit, or weights lie outside [0, 1]; ``ImportError`` without bertviz.

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
    weights: Tensor, tokens: Sequence[str], libraries: str | Sequence[str] = LIBRARIES
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


def _checked(weights: Tensor, tokens: Sequence[str]) -> Tensor:
    given = tuple(weights.shape)
    if weights.ndim == 3:
        weights = weights[None]
    if weights.ndim != 4 or not weights.numel():
        raise ValueError(f"weights {given} are not (layer, head, query, key).")
    n_query, n_key = weights.shape[-2:]
    if n_query != n_key or len(tokens) != n_query:
        raise ValueError(
            f"{len(tokens)} tokens for weights {given}: self-attention has one token for each "
            f"of its {n_query} queries and {n_key} keys."
        )
    weights = weights.detach().cpu().double()
    if not ((weights >= -1e-3) & (weights <= 1 + 1e-3)).all():
        raise ValueError(f"weights {given} hold NaN or numbers outside [0, 1].")
    return weights


def _bertviz(view: str, weights: Tensor, tokens: Sequence[str], **options: Any) -> str:
    """Bertviz's own HTML. It takes a list of (1, head, query, key)."""
    try:
        import bertviz
    except ImportError as error:
        raise ImportError(
            "this view needs bertviz; run `pip install mhsa_lib[bertviz]`."
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its template open
        draw = getattr(bertviz, view)
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
    template = bertviz_page.Template.read(html)
    data = template.params["attention"][0]
    data["attn"] = _rounded(weights.tolist())
    data["left_text"] = data["right_text"] = [_short(token) for token in data["left_text"]]
    template.params["root_div_id"] = ""
    content = json.dumps([kind, template.params, list(tokens)], sort_keys=True)
    digest = "bertviz-" + hashlib.sha256(content.encode()).hexdigest()[:16]
    page = template.page(digest, libraries, WIDTHS[kind], height)
    return View(kind, digest, tuple(weights.shape), height, page)


WIDTHS = {"head view": 380, "model view": 1010}
"""Pixels that bertviz draws into, margins included."""


def _rounded(weights: Any) -> Any:
    """Nested lists with 4 decimals; 0 and 1 as one character."""
    if isinstance(weights, list):
        return [_rounded(part) for part in weights]
    short = round(min(max(weights, 0.0), 1.0), 4)
    return int(short) if short.is_integer() else short


def _short(token: str) -> str:
    return token if len(token) <= LONGEST_TOKEN else token[: LONGEST_TOKEN - 1] + "…"
