"""A Sphinx extension: a page carries each piece of a figure's code once.

Every live figure brings the code and styles that it needs, so that a single cell can be read
alone. A page with several figures would hold the same text several times; here the first of
each stays. A piece is known by its tag and its ``data-mhsa-piece``, a name and a hash of its
content.
"""

import re
from typing import Any

from sphinx.application import Sphinx

PIECE = re.compile(
    r'<(script|style)\b[^>]*?\sdata-mhsa-piece="([^"]+)"[^>]*>.*?</\1\s*>\n?',
    flags=re.DOTALL | re.IGNORECASE,
)


def once(html: str) -> str:
    """Keep the first of every piece.

    >>> once('<style data-mhsa-piece="a">1</style><style data-mhsa-piece="a">1</style>')
    '<style data-mhsa-piece="a">1</style>'
    """
    seen: set[tuple[str, str]] = set()

    def keep(found: re.Match[str]) -> str:
        piece = (found[1].lower(), found[2])
        if piece in seen:
            return ""
        seen.add(piece)
        return found[0]

    return PIECE.sub(keep, html)


def shorten(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Drop the repeated pieces of one page."""
    if "body" in context:
        context["body"] = once(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
