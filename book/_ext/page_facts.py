"""A Sphinx extension: a line under the title: what to do with the page.

The theme hides the same links behind icons at the top of the page. Here they are words: open
the chapter in Colab, download it as a notebook, edit it, report an error. The address of each
is the one that the theme has worked out, but for Colab's: there the theme names the source,
which is full of MyST; the plain edition stands on a branch of its own.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from sphinx.application import Sphinx

NAMES = {  # the end of the theme's address or label: our words
    "Colab": "Open in Colab",
    ".ipynb": "Download notebook",
    "source-edit-button": "Edit this page",
    "source-issues-button": "Report an error",
}


def flat(buttons: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the theme's buttons, those inside groups too."""
    for button in buttons:
        yield from flat(button.get("buttons", []))
        yield button


def to_plain(buttons: list[dict[str, Any]]) -> None:
    """Let every button that opens Colab open the plain edition."""
    for button in flat(buttons):
        if button.get("text") == "Colab":
            button["url"] = re.sub(r"/blob/[^/]+/notebooks/", "/blob/plain/", button["url"])


def links(buttons: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the words and addresses of the buttons that the book keeps, in its order."""
    found = {}
    for button in flat(buttons):
        for name in (button.get("text"), button.get("label")):
            if name in NAMES:
                found[name] = button["url"]
    return [(NAMES[name], found[name]) for name in NAMES if name in found]


def line(links: list[tuple[str, str]]) -> str:
    """Return the line as HTML; only a notebook is saved instead of opened."""
    items = []
    for text, url in links:
        save = " download" if url.endswith(".ipynb") and "://" not in url else ""
        items.append(f'<a href="{escape(url)}"{save}>{text}</a>')
    return f'<p class="book-facts">{"".join(items)}</p>\n'


def add(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the line under the title; on the first page, whose top is a figure's, at the end."""
    if doctree is None:
        return
    to_plain(context["header_buttons"])
    html = line(links(context["header_buttons"]))
    before, title, after = context["body"].partition("</h1>\n")
    if pagename == app.config.root_doc:
        context["body"] += html
    else:
        context["body"] = f"{before}{title}{html}{after}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
