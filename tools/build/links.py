"""Where MyST's roles lead, outside the book: to the published pages, and to papers.

Everything that a notebook refers to has an address on the published pages; a paper has its own.
"""

import re
from functools import cache
from typing import Any

import yaml
from pybtex.database import parse_file
from pybtex.richtext import Text

from tools import ROOT
from tools.build.repository import project, published

MISSING = "_toc.yml names no page {0!r}; write the role's path as `/notebooks/04_split`."


@cache
def site() -> str:
    """Return the address of the published pages, which GitHub derives from the repository's.

    >>> site()
    'https://mhsa-book.github.io/mhsa'
    """
    return published(project()["address"])


@cache
def pages() -> dict[str, str]:
    """Return the name of every page in the table of contents, by its path."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [{"file": toc["root"]}]
    listed += [page for part in toc["parts"] for page in part["chapters"]]
    return {page["file"]: page.get("title") or heading(page["file"]) for page in listed}


def heading(path: str) -> str:
    """Return the first heading of a page of prose."""
    text = (ROOT / f"{path}.md").read_text(encoding="utf-8")
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if not found:
        raise ValueError(f"{path}.md has no heading; begin it with `# Title`.")
    return found[1]


def named(role: str) -> tuple[str, str]:
    """Take apart what stands in a role: its words and its target, "" for no words.

    >>> named("strides <stride>"), named("stride")
    (('strides', 'stride'), ('', 'stride'))
    """
    found = re.fullmatch(r"(.+?)\s*<(.+)>", role, re.DOTALL)
    return (found[1], found[2]) if found else ("", role)


def page(role: str) -> str:
    """Turn what stands in {doc} into a link to the published page.

    >>> page("/notebooks/04_split")
    '[04 Split](https://mhsa-book.github.io/mhsa/notebooks/04_split.html)'
    """
    words, target = named(role)
    path = target.removeprefix("/")
    if path not in pages():
        raise ValueError(MISSING.format(target))
    return f"[{words or pages()[path]}]({site()}/{path}.html)"


def term(role: str) -> str:
    """Turn what stands in {term} into a link to the glossary.

    >>> term("strides <stride>")
    '[strides](https://mhsa-book.github.io/mhsa/book/glossary.html#term-stride)'
    """
    words, target = named(" ".join(role.split()))
    anchor = re.sub(r"[^\w.]+", "-", target).strip("-")  # as Sphinx makes it
    return f"[{words or target}]({site()}/book/glossary.html#term-{anchor})"


@cache
def labels() -> dict[str, str]:
    """Return the page of every label, be it `(name)=` or that of an exercise."""
    found: dict[str, str] = {}
    for path in pages():
        text = "".join(file.read_text(encoding="utf-8") for file in ROOT.glob(f"{path}.*"))
        found |= dict.fromkeys(re.findall(r"(?:\(|:label: )([\w-]+)(?=\)=|\\n|\n)", text), path)
    return found


def label(role: str) -> str:
    """Turn what stands in {ref} into a link to that place of a published page.

    >>> label("the figure of all heads <all-heads>").partition("(")[0]
    '[the figure of all heads]'
    """
    words, target = named(role)
    if not words or target not in labels():
        raise ValueError(f"{role!r} is no `words <label>` with a label that stands somewhere.")
    return f"[{words}]({site()}/{labels()[target]}.html#{target})"


@cache
def papers() -> Any:
    return parse_file(str(ROOT / "book" / "references.bib")).entries


def authors(key: str) -> str:
    """Name the authors of a paper as a sentence does.

    >>> authors("vaswani2017attention"), authors("shazeer2019fast")
    ('Vaswani et al.', 'Shazeer')
    """
    people = papers()[key].persons["author"]
    last = [str(Text.from_latex(" ".join([*p.prelast_names, *p.last_names]))) for p in people]
    if last[-1] == "others" or len(last) > 2:
        return f"{last[0]} et al."
    return " and ".join(last)


def address(key: str) -> str:
    """Return where a paper is: on arXiv, at its publisher, or else in our list."""
    fields = papers()[key].fields
    if "eprint" in fields:
        return f"https://arxiv.org/abs/{fields['eprint']}"
    if "doi" in fields:
        return f"https://doi.org/{fields['doi']}"
    return fields["url"] if "url" in fields else f"{site()}/book/references.html"


def cited(role: str) -> str:
    """Turn what stands in {cite} into authors, year and link, for a pair of brackets.

    >>> cited("vaswani2017attention")
    '[Vaswani et al., 2017](https://arxiv.org/abs/1706.03762)'
    """
    keys = [key.strip() for key in role.split(",")]
    return "; ".join(
        f"[{authors(key)}, {papers()[key].fields['year']}]({address(key)})" for key in keys
    )


def told(role: str) -> str:
    """Turn what stands in {cite:t} into a part of the sentence.

    >>> told("vaswani2017attention")
    '[Vaswani et al. (2017)](https://arxiv.org/abs/1706.03762)'
    """
    keys = [key.strip() for key in role.split(",")]
    return " and ".join(
        f"[{authors(key)} ({papers()[key].fields['year']})]({address(key)})" for key in keys
    )
