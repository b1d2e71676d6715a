"""A Sphinx extension: the colours of the axes stand beside every page that uses them.

A chapter draws its shapes in the colours of `shapes.AXIS_COLOURS`; what each of them means
stands under the contents of the page, where a reader finds it without leaving.
"""

from html import escape
from typing import Any

from sphinx.application import Sphinx

from mhsa_lib.shapes import AXIS_COLOURS

SHOWN = ("batch", "query", "key", "head", "kv_head", "d_model", "d_heads", "d_head")


def legend() -> str:
    """Return a list of the axes, each with its colour.

    >>> legend().count("<li>") == len(SHOWN)
    True
    """
    items = [
        f'<li><span class="book-swatch" style="--axis: {AXIS_COLOURS[name]}"></span> '
        f"{escape(name)}</li>"
        for name in SHOWN
    ]
    return (
        '<section class="book-axes" aria-label="Colours of the axes">'
        f"<p>Colours of the axes</p><ul>{''.join(items)}</ul></section>"
    )


def add(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give a chapter its legend; other pages draw no axes."""
    context["axis_legend"] = legend() if pagename.startswith("notebooks/") else ""


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
