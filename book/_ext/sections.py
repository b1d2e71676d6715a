"""A Sphinx extension: the search finds the section, not only the page that it stands on.

Sphinx's own index knows pages: it finds an answer with the forty that stand around it. Here
every section, entry of the API and word of the glossary is listed with its text; `search.js`
searches the list and shows the sentence. `topics.yml` says what else people call the topic of a
page: whoever asks for one of these gets the page first. The list comes as a script, so that it
works in opened files too, and only the search loads it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.search.en import SearchEnglish

FILE = Path("_static", "sections.js")
TOPICS = Path(__file__).parents[1] / "topics.yml"
LEFT_OUT = {"book/verified", "book/references", "book/guide"}  # tables, titles, an index
KINDS = {  # by the beginning of a page's name, the first that fits
    "notebooks/a3_guide": "guide",
    "notebooks/lab_": "lab",
    "notebooks/": "chapter",
    "book/glossary": "glossary",
    "book/api": "api",
    "": "page",
}


def kind(page: str) -> str:
    return next(kind for start, kind in KINDS.items() if page.startswith(start))


def formula(tex: str) -> str:
    r"""A formula as words that can be read and searched.

    >>> formula(r"\mathrm{softmax}(q k^\top / \sqrt{d_{head}})")
    'softmax(q k^top / sqrt d_head )'
    """
    upright = re.sub(r"\\(?:mathrm|mathbf|text|operatorname)\{([^{}]*)\}", r"\1", tex)
    joined = re.sub(r"([_^])\{(\w+)\}", r"\1\2", upright)
    return " ".join(re.sub(r"[{}]", " ", joined).replace("\\", "").split())


def text(node: nodes.Node) -> str:
    """What a reader sees of a node, without code and without what only machines read."""
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.math):
        return formula(node.astext())
    apart = (nodes.literal_block, nodes.raw, nodes.comment, nodes.math_block, nodes.title)
    apart = (*apart, addnodes.desc_signature)
    if isinstance(node, apart):
        return ""
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(text(child) for child in node.children if not is_place(child))


def code(node: nodes.Node) -> str:
    """The code of a node and what it prints: error texts are looked for too."""
    if isinstance(node, nodes.literal_block):
        return node.astext()
    return " ".join(code(child) for child in node.children if not is_place(child))


def is_place(node: nodes.Node) -> bool:
    """Whether a node is found by itself, and not as a part of what stands around it."""
    if isinstance(node, nodes.definition_list_item):
        return any(term["ids"] for term in node.findall(nodes.term))
    titled = isinstance(node, nodes.section) and isinstance(node[0], nodes.title)
    return titled or isinstance(node, addnodes.desc)


def heading(node: nodes.Node) -> tuple[str, str]:
    """The anchor and the words under which a place is found."""
    if isinstance(node, addnodes.desc):
        (signature, *_) = node.findall(addnodes.desc_signature)
        return signature["ids"][0] if signature["ids"] else "", signature.get("fullname", "")
    title = node[0]  # of a section, or the word of the glossary
    ids = title["ids"] or node.get("ids", [])
    return ids[-1] if ids else "", "".join(map(text, title.children))


def places(tree: nodes.document) -> Iterator[list[str]]:
    """Yield anchor, heading, prose and code of every place of a page, in their order."""
    for node in tree.findall(is_place):
        anchor, words = heading(node)
        prose, shown = (
            " ".join(
                " ".join(part(child) for child in node.children if not is_place(child)).split()
            )
            for part in (text, code)
        )
        yield [anchor, words, prose, shown]


def topics(written: str) -> dict[str, list[str]]:
    """The names of each page's topic; a name that two pages claim leads nowhere.

    >>> topics("18_the_cache: [kv cache, gqa]")
    {'18_the_cache': ['kv cache', 'gqa']}
    """
    found: dict[str, list[str]] = yaml.safe_load(written)
    names = [name for page in found.values() for name in page]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ExtensionError(f"{TOPICS.name} names {twice} for two pages; leave each to one.")
    return found


def read(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Keep the places of a page that is about to be written: its links have their words."""
    if page not in LEFT_OUT:
        app.env.book_places[page] = {  # type: ignore[attr-defined]
            "page": app.builder.get_target_uri(page),
            "name": app.env.titles[page].astext(),
            "kind": kind(page),
            "topics": app.env.book_topics.get(page, []),  # type: ignore[attr-defined]
            "places": list(places(tree)),
        }


def write(app: Sphinx, exception: Any) -> None:
    """Write the list, and the words that the search leaves out or cuts."""
    if exception is None:
        order = [app.config.root_doc, *app.env.toctree_includes[app.config.root_doc]]
        kept = app.env.book_places  # type: ignore[attr-defined]
        for page in order:  # those that were not written again in this build
            if page not in kept and page not in LEFT_OUT:
                read(app, app.env.get_and_resolve_doctree(page, app.builder), page)
        if lost := app.env.book_topics.keys() - kept.keys():  # type: ignore[attr-defined]
            raise ExtensionError(f"{TOPICS.name} names pages that are not there: {lost}.")
        found = [kept[page] for page in order if page in kept]
        stop, pages = json.dumps(sorted(SearchEnglish.stopwords)), json.dumps(found)
        script = (
            f"{SearchEnglish.js_stemmer_code}\nconst STOP = {stop};\nconst PAGES = {pages};\n"
        )
        Path(app.outdir, FILE).write_text(script, encoding="utf-8")


def begin(app: Sphinx) -> None:
    """Nothing is listed yet, and the builder makes no index of its own."""
    app.env.book_places = {}  # type: ignore[attr-defined]
    app.env.book_topics = topics(TOPICS.read_text("utf-8"))  # type: ignore[attr-defined]
    app.builder.search = False  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", begin)
    app.connect("doctree-resolved", read)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
