"""MyST markdown as ordinary markdown, which every reader of notebooks shows.

The structure is read by the parser that the book itself uses; lines that are no MyST stay as
they are, letter by letter.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

from tools.build import links

PARSER = MarkdownIt("commonmark").enable("table")
for plugin in (colon_fence_plugin, dollarmath_plugin, myst_block_plugin, myst_role_plugin):
    PARSER.use(plugin)

ROLE = re.compile(r"\{([\w:]+)\}`([^`]+)`|(`+)(?!`).*?(?<!`)\3(?!`)", re.DOTALL)
"""A role; or code in a line, in which nothing is a role."""
OPTION = re.compile(r":[\w-]+:.*\n?")
FOLDED = "<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"
CODE_NEXT = "*The next cell, titled Solution, has the code.*"


def plain(text: str) -> str:
    r"""Return a cell's text without MyST.

    >>> print(plain(":::{admonition} Careful\n:class: tip\nRows are no words.\n:::\nGo on."))
    > **Careful**
    >
    > Rows are no words.
    <BLANKLINE>
    Go on.
    >>> print(plain("(claim-a4-8)=\nOne head of {cite:t}`shazeer2019fast`."))
    One head of [Shazeer (2019)](https://arxiv.org/abs/1911.02150).
    """
    blocks = [_bracketed_once(block) for block in _blocks(text) if block]
    joined = re.sub(r"\n{3,}", "\n\n", "\n\n".join(blocks)).strip()
    return joined.replace("this page", "this notebook")


def _bracketed_once(text: str) -> str:
    """Take away the brackets of papers that stand in brackets already.

    >>> _bracketed_once("a tile (([Dao, 2022](x)), ([Rabe, 2021](y))) and ([Vig, 2019](z))")
    'a tile ([Dao, 2022](x); [Rabe, 2021](y)) and ([Vig, 2019](z))'
    """
    paper = r"\(\[[^\[\]]+, \d{4}\]\([^()]+\)\)"
    return re.sub(
        rf"\({paper}(, {paper})*\)",
        lambda found: "(" + found[0][2:-2].replace("), (", "; ") + ")",
        text,
    )


def _blocks(text: str) -> Iterator[str]:
    """Yield the text between directives and what each directive becomes.

    A solution lasts until it is ended, in this cell or in another one.
    """
    solution = ""
    for is_directive, part in _parts(text):
        if not is_directive:
            body = roles(part).strip("\n")
            if solution:
                body = FOLDED.format(title="Solution", body=f"{body}\n\n{CODE_NEXT}".strip())
                solution = ""
            yield body
            continue
        kind, _, argument = part.partition("}")
        argument, _, body = argument.strip().partition("\n")
        while option := OPTION.match(body):
            body = body[option.end() :]
        if kind == "solution-start":
            solution = argument
        else:
            yield _known(DIRECTIVES, kind)(roles(argument), roles(body).strip())


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Yield (is it a directive, its text); `(label)=` and comments are left out."""
    lines, done = text.splitlines(keepends=True), 0
    for token in PARSER.parse(text):
        kind = _myst(token)
        if kind is None or token.map is None:
            continue
        start, end = token.map
        if start > done:
            yield False, "".join(lines[done:start])
        if kind == "directive":
            yield True, f"{token.info.strip()[1:]}\n{token.content}"
        done = end
    yield False, "".join(lines[done:])


def _myst(token: Token) -> str | None:
    """Say which construct of MyST a block is; None for ordinary markdown."""
    if token.type in {"colon_fence", "fence"} and token.info.strip().startswith("{"):
        return "directive"
    return token.type if token.type in {"myst_target", "myst_line_comment"} else None


def constructs(text: str) -> list[str]:
    """Name every construct of MyST in a text, in the words of the parser.

    >>> constructs("See {doc}`/notebooks/04_split`, `{doc}` and $x$.")
    ['myst_role']
    """
    found = []
    for token in PARSER.parse(text):
        found += [kind] if (kind := _myst(token)) else []
        found += ["block break"] if token.type == "myst_block_break" else []
        found += [child.type for child in token.children or [] if child.type == "myst_role"]
    return found


def quoted(title: str, body: str) -> str:
    """A box becomes a quotation that begins with its title."""
    lines = [f"**{title}**", "", *body.splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines)


DIRECTIVES: dict[str, Callable[[str, str], str]] = {
    "admonition": quoted,
    "dropdown": lambda title, body: FOLDED.format(title=title, body=body),
    "exercise-start": lambda title, body: f"### Exercise: {title}",
    "exercise-end": lambda title, body: "",
    "solution-end": lambda title, body: "",
}

ROLES: dict[str, Callable[[str], str]] = {
    "doc": links.page,
    "term": links.term,
    "cite": lambda keys: f"({links.cited(keys)})",
    "cite:t": links.told,
    "ref": links.label,
}


def _known(forms: dict[str, Any], name: str) -> Any:
    if name not in forms:
        raise ValueError(
            f"{{{name}}} has no plain form; write one of {', '.join(forms)}, "
            "or say in tools/build/plain_text.py what becomes of it."
        )
    return forms[name]


def roles(text: str) -> str:
    """Replace every role; what stands in brackets already gets no second pair."""

    def replaced(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        return _known(ROLES, found[1])(" ".join(found[2].split()))

    text = ROLE.sub(replaced, text)
    return re.sub(r"\(\((\[[^()]*\]\([^()]*\)(?:; \[[^()]*\]\([^()]*\))*)\)\)", r"(\1)", text)
