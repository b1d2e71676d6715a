"""A Sphinx extension: a line under the title: how long the page takes, what to do with it.

The theme hides the same links behind icons at the top of the page. Here they are words: open
the chapter in Colab, download it as a notebook, edit it, report an error. The address of each
is the one that the theme has worked out, but for Colab's: there the theme names the source,
which is full of MyST; the plain edition stands on a branch of its own.

The first page says how long a path through the book takes: it writes ⟦01 02 05⟧ or ⟦01–09⟧,
and the minutes to read these chapters stand there instead.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from reading_time import minutes
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


def line(time: tuple[int, int] | None, links: list[tuple[str, str]]) -> str:
    """Return the line as HTML; only a notebook is saved instead of opened."""
    items = []
    if time:
        said = f"{time[0]} min to read and run"
        said += f", {time[1]} for the exercises" if time[1] else ""
        items.append(f'<span class="book-time">{said}</span>')
    for text, url in links:
        save = " download" if url.endswith(".ipynb") and "://" not in url else ""
        items.append(f'<a href="{escape(url)}"{save}>{text}</a>')
    return f'<p class="book-facts">{"".join(items)}</p>\n'


def chapters(named: str) -> list[str]:
    """Return the numbers of chapters that a path names.

    >>> chapters("01–03 05")
    ['01', '02', '03', '05']
    """
    found = []
    for first, last in re.findall(r"(\d\d)(?:–(\d\d))?", named):
        found += [f"{n:02}" for n in range(int(first), int(last or first) + 1)]
    return found


def with_sums(body: str, times: dict[str, int]) -> str:
    """Replace every ⟦path⟧ by its minutes; a chapter that is not there is an error."""
    return re.sub(r"⟦(.*?)⟧", lambda path: str(sum(times[n] for n in chapters(path[1]))), body)


def times(env: Any) -> dict[str, int]:
    """Return the minutes to read each chapter, by its number."""
    docs = [re.match(r"notebooks/(\d\d[a-z]?)_", name) for name in env.found_docs]
    return {doc[1]: minutes(env.get_doctree(doc.string))[0] for doc in docs if doc}


def add(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the line under the title; on the first page, whose top is a figure's, at the end."""
    if doctree is None:
        return
    # In the appendix nobody reads it all; elsewhere as in the sums.
    chapter = re.match(r"notebooks/\d\d[a-z]?_", pagename)
    time = minutes(app.env.get_doctree(pagename)) if chapter else None
    to_plain(context["header_buttons"])
    html = line(time, links(context["header_buttons"]))
    before, title, after = context["body"].partition("</h1>\n")
    if pagename == app.config.root_doc:
        context["body"] = with_sums(context["body"], times(app.env)) + html
    else:
        context["body"] = f"{before}{title}{html}{after}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
