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
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from torch import Tensor

CDN = "https://cdnjs.cloudflare.com/ajax/libs"
"""Where BertViz itself looks; it keeps each library in a folder with its version."""

LIBRARIES = ("../vendor", CDN)
"""Addresses tried in order: beside the pages of the book first, then, as in Colab, the CDN."""

LONGEST_TOKEN = 13
"""Characters of a token that fit beside the lines; the rest becomes "…"."""


@dataclass(frozen=True)
class View:
    """A BertViz view as HTML; it draws itself in a notebook.

    ``id`` depends on the content alone. ``page`` is the document inside the frame.
    """

    kind: str
    id: str
    tokens: tuple[str, ...]
    shape: tuple[int, ...]
    height: int
    page: str

    def __repr__(self) -> str:
        n_layers, n_heads, n_query, _ = self.shape
        return f"BertViz {self.kind}: {n_layers} layers, {n_heads} heads, {n_query} tokens"

    def _repr_html_(self) -> str:
        title = escape(f"{self!r}. Lines join each token with the tokens it looks at.")
        return (
            f'<iframe id="{self.id}" title="{title}" srcdoc="{escape(self.page)}" '
            f'style="width:100%;height:{self.height}px;border:0;background:#fff;'
            f'color-scheme:light"></iframe>'
        )


def head_view(
    weights: Tensor,
    tokens: Sequence[str],
    libraries: str | Sequence[str] = LIBRARIES,
    layer: int = 0,
) -> View:
    """Draw lines between tokens for the heads of one layer; another layer is a choice away.

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
    html = _bertviz().head_view(
        _layers(weights), list(tokens), layer=layer, html_action="return"
    )
    height = 23 * len(tokens) + 90
    return _view("head view", html.data, weights, tokens, libraries, height)


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
    html = _bertviz().model_view(
        _layers(weights), list(tokens), display_mode="light", html_action="return"
    )
    n_layers, n_heads, n_tokens, _ = weights.shape
    small = n_layers * (84 * n_tokens / n_heads + 10) + 40
    height = round(max(small, 18 * n_tokens + 60)) + 50
    return _view("model view", html.data, weights, tokens, libraries, height)


def _bertviz() -> Any:
    try:
        import bertviz
    except ImportError as error:
        raise ImportError(
            "this view needs bertviz; run `pip install mhsa_lib[bertviz]`."
        ) from error
    return bertviz


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
            f"of the {n_query} queries and {n_key} keys."
        )
    weights = weights.detach().cpu().double()
    if not ((weights >= -1e-3) & (weights <= 1 + 1e-3)).all():
        raise ValueError(
            f"weights {given} hold NaN or numbers outside [0, 1]; nothing to draw."
        )
    return weights


def _layers(weights: Tensor) -> list[Tensor]:
    """The list of (1, head, query, key) that bertviz takes; its numbers are replaced later."""
    return [layer[None] for layer in weights]


def _view(
    kind: str,
    html: str,
    weights: Tensor,
    tokens: Sequence[str],
    libraries: str | Sequence[str],
    height: int,
) -> View:
    params, body, script = _take_apart(html)
    given_id = params["root_div_id"]
    params["attention"][0]["attn"] = _rounded(weights.tolist())
    shown = [_short(token) for token in params["attention"][0]["left_text"]]
    params["attention"][0].update(left_text=shown, right_text=shown)
    params["root_div_id"] = ""
    content = json.dumps([kind, params, list(tokens)], sort_keys=True)
    params["root_div_id"] = "bertviz-" + hashlib.sha256(content.encode()).hexdigest()[:16]
    body = _replace(body, f'id="{given_id}"', f'id="{params["root_div_id"]}"')
    body = body.replace('<select id="layer">', '<select id="layer" aria-label="Layer">')
    page = _page(kind, height, body, _replace(script, MARK, _in_script(params)), libraries)
    shape = tuple(weights.shape)
    return View(kind, params["root_div_id"] + "-frame", tuple(tokens), shape, height, page)


STYLE = (
    "body{margin:8px 8px 8px 24px;color:#000;background:#fff}"
    "svg{overflow:visible}#left text,#right text{font-size:13px}"
)
WIDTHS = {"head view": 380, "model view": 1010}
"""Pixels that bertviz draws into, margins included."""

MARK = "PYTHON_PARAMS"
PARAMS_BEFORE, CONFIG_BEFORE = "const params = ", "require.config("
CODE_BEFORE = "requirejs(['jquery', 'd3'], function"
REQUIRE = f'<script src="{CDN}/require.js/2.3.6/require.min.js"></script>'


def _take_apart(html: str) -> tuple[dict[str, Any], str, str]:
    """Bertviz's parameters, its HTML, and its code with ``MARK`` where the parameters stood."""
    _, body = _cut(html, REQUIRE)
    body, script = _cut(body, '<script type="text/javascript">')
    script, _ = _cut(script, "</script>", last=True)
    _, code = _cut(script, CODE_BEFORE)
    before, after = _cut(code, PARAMS_BEFORE)
    params, end = json.JSONDecoder().raw_decode(after)
    # The rest of this line is a comment into which bertviz pastes the parameters once more.
    _, after = _cut(after[end:], "\n")
    return params, body, f"{CODE_BEFORE}{before}{PARAMS_BEFORE}{MARK};\n{after}"


def _cut(text: str, at: str, last: bool = False) -> tuple[str, str]:
    before, found, after = text.rpartition(at) if last else text.partition(at)
    if not found:
        raise RuntimeError(
            f"bertviz's page no longer contains {at!r}; this adapter knows bertviz 1.4."
        )
    return before, after


def _replace(text: str, old: str, new: str) -> str:
    before, after = _cut(text, old)
    return before + new + after


def _rounded(weights: Any) -> Any:
    """Nested lists with 4 decimals; whole numbers in one character."""
    if isinstance(weights, list):
        return [_rounded(part) for part in weights]
    short = round(min(max(weights, 0.0), 1.0), 4)
    return int(short) if short == int(short) else short


def _short(token: str) -> str:
    return token if len(token) <= LONGEST_TOKEN else token[: LONGEST_TOKEN - 1] + "…"


def _in_script(value: Any) -> str:
    """JSON that stays data inside a script: ASCII without <, > and &."""
    text = json.dumps(value, separators=(",", ":"))
    return text.translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&"})


def _page(
    kind: str, height: int, body: str, script: str, libraries: str | Sequence[str]
) -> str:
    """A document that loads the libraries from the first address that answers, then draws."""
    folders = [libraries] if isinstance(libraries, str) else list(libraries)
    if not folders:
        raise ValueError("libraries names no address; give the folder of the three libraries.")
    load = "".join(
        f"<script>window.requirejs || document.write({_in_script(_load(paths))})</script>"
        for paths in map(_addresses, folders)
    )
    tried = escape(", ".join(folders))
    missing = f"<p>The libraries of this view did not load from {tried}.</p>"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>BertViz</title>'
        f"<style>{STYLE}</style></head><body><script>{_fit(kind, height)}</script>"
        f"{body}{load}<script>if (window.requirejs) {{\n{script}\n}} "
        f"else document.write({_in_script(missing)})</script></body></html>"
    )


def _fit(kind: str, height: int) -> str:
    """Shrink the view to the frame, to 70 % at most, and the frame's height with it."""
    return (
        f"const zoom = Math.max(0.7, Math.min(1, innerWidth / {WIDTHS[kind]}));"
        f"document.documentElement.style.zoom = zoom;"
        f"if (window.frameElement) frameElement.style.height = {height} * zoom + 'px';"
    )


def _load(paths: dict[str, str]) -> str:
    """Markup that loads require.js and, once it is there, tells it about the other two."""
    config = {"paths": {name: paths[name] for name in ("d3", "jquery")}}
    return (
        f'<script src="{escape(paths["require"])}.js"></script>'
        f"<script>window.requirejs && requirejs.config({_in_script(config)})</script>"
    )


def _addresses(folder: str) -> dict[str, str]:
    folder = folder.rstrip("/")
    if folder == CDN:
        return {
            "require": f"{CDN}/require.js/2.3.6/require.min",
            "d3": f"{CDN}/d3/5.7.0/d3.min",
            "jquery": f"{CDN}/jquery/2.0.0/jquery.min",
        }
    return {name: f"{folder}/{name}.min" for name in ("require", "d3", "jquery")}
