"""A Sphinx extension: pointing at a word of the glossary shows what it means."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

GLOSSARY = "book/glossary"


def meanings(glossary: nodes.document) -> dict[str, str]:
    """Return the first paragraph of each entry by the anchor of its term."""
    found = {}
    for item in glossary.findall(nodes.definition_list_item):
        definition = next(item.findall(nodes.definition))
        text = definition[0].astext() if definition.children else ""
        found |= {anchor: text for term in item.findall(nodes.term) for anchor in term["ids"]}
    return found


def explain(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the meaning of a term into the title of every link that leads to it."""
    if GLOSSARY not in app.env.found_docs:
        return
    terms: dict[str, str] = {}
    for link in doctree.findall(nodes.reference):
        anchor = link.get("refuri", "").partition("#")[2] or link.get("refid", "")
        if not anchor.startswith("term-"):
            continue
        terms = terms or meanings(app.env.get_doctree(GLOSSARY))
        link["reftitle"] = terms.get(anchor, "")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", explain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
