"""A Sphinx extension: what a page is about, for searches and for places where links are shared.

A chapter asks a question; its description is that question and how the page begins. A page may
say it itself, as `description` under `html_meta`. Beside a link stands a picture: a chapter's
own, or the book's; `tools/build/card.py` draws them. Nothing here is loaded by a page.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sections import text
from sphinx.application import Sphinx

LONGEST = 200
CARDS = "vendor/poster"
ALT = "The animal avoided the street too tired, or too wide: lines lead from the last word."


def sentences(words: str) -> list[str]:
    """Split prose where a sentence ends.

    >>> sentences("Is it? Yes, 3.4 times. So it is.")
    ['Is it?', 'Yes, 3.4 times.', 'So it is.']
    """
    return re.split(r"(?<=[.?!])\s+(?=[A-Z“\"*])", words.strip())


def fitting(said: list[str], longest: int = LONGEST) -> str:
    """The first of these sentences, as many as fit; of a long one its beginning.

    >>> fitting(["Is it?", "Yes.", "And so on for long."], 12)
    'Is it? Yes.'
    """
    first, *rest = said
    if len(first) > longest:
        return first[: longest - 1].rsplit(" ", 1)[0] + "…"
    for sentence in rest:
        if len(first) + 1 + len(sentence) > longest:
            break
        first = f"{first} {sentence}"
    return first


def described(tree: nodes.document) -> str:
    """What a page says of itself, or its question and its first paragraph."""
    for meta in tree.findall(nodes.meta):
        if meta.get("name") == "description":
            return str(meta["content"])
    title = next(tree.findall(nodes.title)).astext()
    asked = title.rpartition(": ")[2] if title.endswith("?") else ""
    first = next((p for p in tree.findall(nodes.paragraph) if is_prose(p)), None)
    begins = sentences(" ".join(text(first).split())) if first is not None else [title]
    return fitting([capitalised(asked), *begins] if asked else begins)


def capitalised(asked: str) -> str:
    """A question as a sentence of its own; a name of code keeps its letters.

    >>> capitalised("who looks?"), capitalised("nn.Linear, why?")
    ('Who looks?', 'nn.Linear, why?')
    """
    return asked[0].upper() + asked[1:] if asked.split()[0].isalpha() else asked


def is_prose(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph is the page's own, not a quotation, a box, a cell or an entry."""
    return isinstance(paragraph.parent, (nodes.section, nodes.document))


def card(pagename: str, tree: nodes.document | None, extra: Path) -> tuple[str, str]:
    """The picture beside a link to a page, and what it shows: a chapter's is its first."""
    own = f"{CARDS}/card-{pagename.rpartition('/')[2]}.png"
    shown = next(tree.findall(nodes.image), None) if tree is not None else None
    if shown is None or not (extra / own).exists():
        return f"{CARDS}/card.png", ALT
    return own, str(shown.get("alt") or ALT)


def tags(
    title: str, about: str, address: str, site: str, book: str, picture: tuple[str, str]
) -> str:
    """The description, and the page as a link that is shared, in HTML."""
    shared = {
        "og:title": title,
        "og:description": about,
        "og:type": "website" if title == book else "article",
        "og:site_name": book,
        "og:url": f"{site}/{address}",
        "og:image": f"{site}/{picture[0]}",
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": picture[1],
    }
    named = {"description": about, "twitter:card": "summary_large_image"}
    lines = [f'<meta name="{name}" content="{escape(said)}" />' for name, said in named.items()]
    lines += [f'<meta property="{p}" content="{escape(said)}" />' for p, said in shared.items()]
    return "\n".join(lines) + "\n"


def add(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the tags into the head of a page; the ones of MyST give way."""
    book = app.config.html_title
    if doctree is None:
        title = context.get("title") or "Search"
        kind = "The source of " if pagename.startswith("_modules/") else ""
        about = f"{kind}{title}, in “{book}”."
    else:
        title, about = next(doctree.findall(nodes.title)).astext(), described(doctree)
    kept = re.sub(r'<meta [^>]*name="description"[^>]*>\n?', "", context.get("metatags", ""))
    address = app.builder.get_target_uri(pagename)
    extra = Path(app.srcdir) / app.config.html_extra_path[0]
    picture = card(pagename, doctree, extra)
    site = app.config.html_baseurl
    context["metatags"] = kept + tags(title, about, address, site, book, picture)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
