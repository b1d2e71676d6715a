"""A Sphinx extension: what Sphinx writes and a screen reader stumbles over, written properly.

An empty header cell announces a column without a name; it becomes a plain cell. The entries of
the bibliography are the items of a list, but carry a role that lists may not contain. The
summary of hidden code is called something else than it says.
"""

from typing import Any

from sphinx.application import Sphinx

PROPERLY = {
    '<th class="head"><p></p></th>': "<td></td>",
    ' role="doc-biblioentry"': ' role="listitem"',
    '<summary aria-label="Toggle hidden content">': "<summary>",
}


def mend(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Rewrite the body of one page."""
    for wrong, right in PROPERLY.items():
        context["body"] = context.get("body", "").replace(wrong, right)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
