"""A Sphinx extension: a link calls a chapter as the table of contents does: 07 Concat.

The title of a chapter goes on with its question, which would not fit into a sentence or under
an arrow. So links in the text, and those to the previous and the next page, show the name in
`_toc.yml`; the page itself, its tab and the search show the whole title.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def names(site_map: Any) -> dict[str, str]:
    """Return the name of each page that has one of its own in the table of contents."""
    return {name: page.title for name, page in site_map.items() if page.title}


def call(app: Sphinx, env: BuildEnvironment) -> None:
    """Let links show the names; the titles of the pages are kept elsewhere."""
    for page, name in names(app.config.external_site_map).items():
        env.titles[page] = nodes.title("", name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-updated", call)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
