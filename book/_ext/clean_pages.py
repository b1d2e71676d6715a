"""A Sphinx extension: built pages load nothing that they do not use.

The theme puts the thebe scripts (kernels started from the page) on every page. We never start
one, they name a host outside the page, and their second copy logs an error in the console.
It also loads 1.5 MB of FontAwesome for a dozen icons, which `_static/icons.css` draws, and on
every page the index of the search, which only the search needs. MathJax, 1.1 MB, comes where
there is a formula.
"""

import re
from typing import Any

from sphinx.application import Sphinx

FONTAWESOME = re.compile(r"<script [^>]*scripts/fontawesome\.js[^>]*></script>")
FORMULA = re.compile(r'class="(math|output text_latex)\b')
SEARCH = re.compile(r"<script [^>]*(searchtools|language_data|searchindex)\.js[^>]*></script>")


def clean(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Take the thebe scripts and styles out of the page, and tell the layout what to drop."""
    for kind in ("script_files", "css_files"):
        context[kind] = [f for f in context.get(kind, []) if not is_thebe(f)]
    if not FORMULA.search(context.get("body") or ""):
        context["script_files"] = [f for f in context["script_files"] if not is_mathjax(f)]
    context["without_fontawesome"] = lambda head: FONTAWESOME.sub("", head)
    context["without_search"] = lambda head: SEARCH.sub("", head)


def is_mathjax(file: Any) -> bool:
    """Say whether a script is MathJax, or what it is told."""
    body = getattr(file, "attributes", {}).get("body") or ""
    return "mathjax" in f"{getattr(file, 'filename', file)} {body}".lower()


def is_thebe(file: Any) -> bool:
    """Say whether a script or style belongs to thebe: by its name, or by its inline text."""
    body = getattr(file, "attributes", {}).get("body") or ""
    return "thebe" in f"{getattr(file, 'filename', file)} {body}".lower()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", clean, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
