"""A Sphinx extension: every id of a page names one place.

Each live figure has an address, made of its kind, ``live-scale-lab``, with a number from the
second of a kind on, so that a figure of another kind can come before it and links to it still
hold. The bodies of exercises and solutions bear the same id on all of them: theirs goes.
"""

import re
from collections import Counter
from typing import Any

from sphinx.application import Sphinx

FIGURE = re.compile(r'<div class="mhsa-figure mhsa-([\w-]+)" data-mhsa-figure=')
BODY = re.compile(r' id="(exercise|solution)-content"')


def named(html: str) -> str:
    """Give each figure its id.

    >>> named('<div class="mhsa-figure mhsa-mask-lab" data-mhsa-figure="a">')
    '<div id="live-mask-lab" class="mhsa-figure mhsa-mask-lab" data-mhsa-figure="a">'
    """
    seen: Counter[str] = Counter()

    def name(found: re.Match[str]) -> str:
        kind = found[1]
        seen[kind] += 1
        number = f"-{seen[kind]}" if seen[kind] > 1 else ""
        return found[0].replace("<div ", f'<div id="live-{kind}{number}" ')

    return FIGURE.sub(name, html)


def give(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give one page its ids."""
    if "body" in context:
        context["body"] = BODY.sub("", named(context["body"]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", give)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
