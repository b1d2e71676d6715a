"""A Sphinx extension: a page that is shared has a title, a sentence and a picture of its own.

They are the page's title, its first sentences and its first picture. Where pages are shared
from is an address of its own, so that the picture is found: the published book.
"""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tools.build.links import site

LONGEST = 200
PICTURE = re.compile(r'<img[^>]*\ssrc="(?:\.\./)*(_images/[^"]+\.png)"')


def sentence(tree: nodes.Node) -> str:
    r"""Return the first paragraph of a page, cut after a word.

    >>> from docutils.core import publish_doctree
    >>> sentence(publish_doctree("A title\n=======\n\nOne  sentence."))
    'One sentence.'
    """
    paragraphs = (p.astext() for p in tree.findall(nodes.paragraph) if p.astext().strip())
    text = " ".join(next(paragraphs, "").split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rsplit(' ', 1)[0]} …"


def tags(about: dict[str, str]) -> str:
    """Return the description and what is not empty as Open Graph has it.

    >>> tags({"title": "A & B", "description": ""})
    '<meta property="og:title" content="A &amp; B"/>'
    """
    described = about.get("description", "")
    named = f'<meta name="description" content="{escape(described)}"/>' if described else ""
    return named + "".join(
        f'<meta property="og:{name}" content="{escape(text)}"/>'
        for name, text in about.items()
        if text
    )


def add(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write them into the head of one page."""
    if doctree is None:
        return
    picture = PICTURE.search(context.get("body", ""))
    title = re.sub(r"<[^>]+>", "", context.get("title", ""))
    about = {
        "title": title,
        "description": sentence(doctree),
        "type": "article",
        "url": f"{site()}/{pagename}.html",
        "image": f"{site()}/{picture[1]}" if picture else "",
    }
    context["metatags"] = context.get("metatags", "") + tags(about)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
