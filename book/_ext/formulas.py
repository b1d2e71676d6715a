r"""A Sphinx extension: formulas can be read where no script runs.

MathJax sets a formula in the browser. Without JavaScript its TeX would stand there; instead the
same formula stands behind it as MathML, made when the book is built, and the TeX is not shown.
"""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert
from sphinx.application import Sphinx

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="math notranslate nohighlight"[^>]*>(?P<inside>.*?)</(?P=tag)>',
    flags=re.DOTALL,
)
NUMBER = re.compile(r'<span class="eqno">.*?</span>', flags=re.DOTALL)
HIDDEN = "<noscript><style>.math {display: none !important}</style></noscript>\n"


def tex(inside: str) -> str:
    r"""The TeX of a formula as Sphinx writes it.

    >>> tex(r"\(a &lt; b\)"), tex("\\[\n\\sqrt{4}\\]")
    ('a < b', '\\sqrt{4}')
    """
    return re.sub(r"^\\[(\[]|\\[)\]]$", "", unescape(NUMBER.sub("", inside)).strip()).strip()


def with_mathml(html: str) -> str:
    r"""Put the MathML of every formula behind it, for pages without scripts.

    >>> formula = r'<span class="math notranslate nohighlight">\(q\)</span>'
    >>> "<noscript><math" in with_mathml(formula)
    True
    """

    def both(found: re.Match[str]) -> str:
        display = "inline" if found["tag"] == "span" else "block"
        return (
            f"{found[0]}<noscript>{convert(tex(found['inside']), display=display)}</noscript>"
        )

    return FORMULA.sub(both, html)


def add(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the formulas of one page their MathML."""
    body = context.get("body") or ""
    if FORMULA.search(body):
        context["body"] = with_mathml(body)
        context["metatags"] = context.get("metatags", "") + HIDDEN


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
