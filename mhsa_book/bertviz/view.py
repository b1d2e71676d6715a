"""A BertViz view: HTML that draws itself in a notebook and can be saved as a file."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from torch import Tensor

from mhsa_book.bertviz.page import CDN, Template

LIBRARIES = ("../vendor", CDN)
"""Addresses tried in order: beside the pages of the book first, then, as in Colab, the CDN."""

LONGEST_TOKEN = 13
"""Characters of a token that fit beside the lines; the rest becomes "…"."""

WIDTHS = {"head view": 380, "model view": 1010, "neuron view": 1055}
"""Pixels that bertviz draws into, margins included."""


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

    @classmethod
    def of(
        cls,
        kind: str,
        template: Template,
        shape: tuple[int, ...],
        tokens: Sequence[str],
        libraries: str | Sequence[str],
        height: int,
    ) -> "View":
        """The view that a template draws; its id is a digest of all it shows."""
        template.params["root_div_id"] = ""
        content = json.dumps([kind, template.params, list(tokens)], sort_keys=True)
        digest = "bertviz-" + hashlib.sha256(content.encode()).hexdigest()[:16]
        page = template.page(digest, libraries, WIDTHS[kind], height)
        return cls(kind, digest, shape, height, page)

    def __repr__(self) -> str:
        n_layers, n_heads, n_tokens, _ = self.shape
        return f"BertViz {self.kind}: {n_layers} layers, {n_heads} heads, {n_tokens} tokens"

    def _repr_html_(self) -> str:
        title = f"{self!r}. Lines join each token with the tokens it looks at."
        style = f"width:100%;height:{self.height}px;border:0;background:#fff;color-scheme:light"
        page = escape(self.page, quote=False).replace('"', "&quot;")  # ' may stay, and is short
        return (
            f'<iframe id="{self.id}-frame" title="{escape(title)}" style="{style}" '
            f'srcdoc="{page}"></iframe>'
        )

    def save(self, path: str | Path) -> Path:
        """Write the view as one HTML file for a browser, and return its path.

        The numbers are in the file. The three libraries are not: they load when it is opened,
        by default from the CDN, which needs a network. To open it without one, make the view
        with ``libraries="."`` and put ``require.min.js``, ``d3.min.js`` and ``jquery.min.js``
        into the folder of the file. The file is there as a whole or not at all; one of the
        same name is replaced. Raises ``ValueError`` unless the name ends in ``.html``.

        >>> import tempfile, torch
        >>> from mhsa_book.bertviz import head_view
        >>> folder = tempfile.mkdtemp()
        >>> head_view(torch.eye(2)[None], ["I", "see"]).save(f"{folder}/heads.html").name
        'heads.html'
        """
        path = Path(path)
        if path.suffix.lower() not in {".html", ".htm"}:
            raise ValueError(
                f"path {str(path)!r} does not end in .html, by which a browser knows a page; "
                f"give it that ending."
            )
        part = path.with_name(f".{path.name}.part")
        try:
            part.write_text(self.page, encoding="utf-8")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return path


def rounded(numbers: Tensor) -> list[Any]:
    """Nested lists with 4 decimals; whole numbers without a point.

    >>> import torch
    >>> rounded(torch.tensor([[1.0, 0.33333], [-2.0, -0.00001]]))
    [[1, 0.3333], [-2, 0]]
    """
    return [_short(part) for part in numbers.tolist()]


def _short(part: Any) -> Any:
    if isinstance(part, list):
        return [_short(inner) for inner in part]
    number = round(part, 4)
    return int(number) if number.is_integer() else number


def label(token: str) -> str:
    """A token as it stands beside the lines.

    >>> label("representation"), label("attention")
    ('representati…', 'attention')
    """
    return token if len(token) <= LONGEST_TOKEN else token[: LONGEST_TOKEN - 1] + "…"
