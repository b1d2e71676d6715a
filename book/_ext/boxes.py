"""A Sphinx extension: a box with a known title gets the look of its kind.

The notebooks write `:::{admonition} Predict`, which every other reader of notebooks understands
too. Here the title decides the class; whatever colour the notebook asked for is dropped.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

KINDS = {
    "Predict": "book-predict",
    "Try": "book-try",
    "Remember": "book-remember",
    "Careful": "book-careful",
    "Often said": "book-often-said",
    "A claim": "book-often-said",
}


class Boxes(SphinxTransform):
    """Give each box of the book its class."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        for box in self.document.findall(nodes.admonition):
            kind = KINDS.get(box[0].astext()) if box.children else None
            if kind:
                box["classes"] = [kind]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(Boxes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
