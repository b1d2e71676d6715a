"""A live figure: one plain ES module, a widget where a kernel is, alive without one as well.

A figure is a folder with three files of its name. ``name.py`` declares its state as traits and
draws a still picture of it; ``name.js`` draws and computes, with its own pieces beside it;
``name.css`` styles. With a kernel it is an anywidget: what the reader changes arrives as
traits, and setting a trait redraws. On a static page ``shared/loader.js`` mounts the same
module on the same state.

A piece is one JavaScript file, with its styles if a CSS file has its name. ``name.js`` and all
that it imports are joined into one module: imports, exports and words for other readers
(comments, types, indentation) are dropped, and so a name may be declared in one piece only. An
HTML output carries every piece once, under a key made of its name and content, so that a page
with several figures can keep the first of each and drop the others.
"""

import base64
import hashlib
import io
import json
import re
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import anywidget
import matplotlib.pyplot as plt
from PIL import Image

from mhsa_book.widgets.rules import Rule, rule_of

FOLDER = Path(__file__).parent
FIRST, LOADER = "shared/frame", "shared/loader"
IMPORT = re.compile(r'^import [^;]*? from "(\.[./]*/[\w/]+)\.js";\n', re.MULTILINE)
COMMENT = r"/\*\*(?:(?!\*/)[\s\S])*\*/"
CSS_WORDS = re.compile(r"/\*[\s\S]*?\*/\n?|^ +|(?<=[{};,])\n", re.MULTILINE)
WORDS = re.compile(rf"^ *//.*\n|^ *{COMMENT}\n|{COMMENT} ?|^ +", re.MULTILINE)


class Figure(anywidget.AnyWidget):
    """What all figures share; a figure declares traits, ``alt`` and ``still``."""

    not_in_a_link = ""
    """What a link to a view leaves out, in words: its button says so."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Set here and not on the class: an import of all figures should not read their scripts.
        self._esm, self._css = self.code("js"), self.code("css")
        super().__init__(*args, **kwargs)

    @classmethod
    def pieces(cls) -> tuple[str, ...]:
        """Return its pieces, paths in this folder without a suffix, its own last.

        A figure without a script of its module's name runs the one of its base class.
        """
        modules = ("/".join(each.__module__.split(".")[-2:]) for each in cls.__mro__)
        own = next(module for module in modules if (FOLDER / f"{module}.js").exists())
        return tuple(dict.fromkeys((*pieces(FIRST), *pieces(own))))

    @classmethod
    def code(cls, suffix: str) -> str:
        """Return its script or its styles as one text."""
        return "\n".join(code(piece, suffix) for piece in cls.pieces())

    @property
    def refusal(self) -> str | None:
        """Why this state cannot be shown, with a repair; None where it can.

        The live figure says the same, and has a button for each repair.
        """
        return None

    @property
    def alt(self) -> str:
        """What the still picture shows, in words."""
        raise NotImplementedError(f"{type(self).__name__} says nothing of its still picture.")

    def still(self) -> None:
        """Draw the current state as one matplotlib figure, for a page without JavaScript."""
        raise NotImplementedError(f"{type(self).__name__} draws no still picture.")

    def state(self) -> dict[str, Any]:
        """Every trait that Python and the page share, by name."""
        frame = anywidget.AnyWidget.class_trait_names()
        return {
            name: getattr(self, name)
            for name in sorted(self.trait_names(sync=True))
            if name not in frame and not name.startswith("_")
        }

    def rules(self) -> dict[str, Rule]:
        """The traits that a reload or a link brings back, and which values each may have.

        A number with both ends, an ``Enum`` or a ``Bool`` is there by itself;
        a figure adds others, or takes away what its reader does not set.
        """
        found = {name: rule_of(self.traits()[name]) for name in self.state()}
        return {name: rule for name, rule in found.items() if rule is not None}

    def html(self) -> str:
        """The figure as HTML that needs no kernel and no network."""
        name = Path(self.pieces()[-1]).name.replace("_", "-")
        keys = " ".join(key(piece, "js") for piece in self.pieces())
        data = json.dumps(self.state(), allow_nan=False, default=_base64, ensure_ascii=False)
        rules = json.dumps(self.rules(), ensure_ascii=False, separators=(",", ":"))
        rules = escape(rules, quote=False).replace("'", "&#39;")
        without = f' data-mhsa-without="{self.not_in_a_link}"' if self.not_in_a_link else ""
        styles = "".join(_piece("style", piece, "css") for piece in self.pieces())
        scripts = "".join(_piece("script", piece, "js") for piece in (*self.pieces(), LOADER))
        return (
            f'{styles}<div class="mhsa-figure mhsa-{name}" data-mhsa-figure="{keys}"'
            f" data-mhsa-rules='{rules}'{without}>"
            f"<noscript>{self.without_script()}</noscript>"
            f'<script type="application/json">{_inert(data)}</script></div>{scripts}'
        )

    def without_script(self) -> str:
        """HTML for a page on which nothing runs: the still picture, or what is wrong."""
        if self.refusal is not None:
            return f"<p>{escape(self.refusal)}</p>"
        return f'<img alt="{escape(self.alt)}" src="{png(self.still)}" style="max-width:100%">'

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": repr(self), "text/html": self.html()}, metadata


@cache
def pieces(piece: str) -> tuple[str, ...]:
    """A piece after all that it imports, each once: an order in which they can be joined.

    >>> pieces("shared/dial")
    ('shared/elements', 'shared/numbers', 'shared/stops', 'shared/dial')
    """
    imported = [join(dirname(piece), path) for path in IMPORT.findall(_read(piece, "js"))]
    before = [older for path in imported for older in pieces(normpath(path))]
    return (*dict.fromkeys(before), piece)


@cache
def code(piece: str, suffix: str) -> str:
    """The text of a piece as it joins others: no imports, no words, only a default export."""
    text = _read(piece, suffix)
    if suffix == "js":
        text = WORDS.sub("", IMPORT.sub("", text))
        text = re.sub(r"^export (?!default)", "", text, flags=re.M)
    return text if suffix == "js" else CSS_WORDS.sub("", text)


def key(piece: str, suffix: str) -> str:
    """Name and content of a piece in a few letters, the same on every machine."""
    digest = hashlib.sha256(code(piece, suffix).encode()).hexdigest()
    return f"{piece}:{digest[:8]}"


def png(draw: Callable[[], None]) -> str:
    """The picture that ``draw`` makes, in 64 colours, as a data URL."""
    draw()
    return picture()


def picture(number: int | None = None) -> str:
    """A figure of matplotlib, by default the current one, as ``png`` has it; it is closed."""
    full, small = io.BytesIO(), io.BytesIO()
    shown = plt.figure(number) if number is not None else plt.gcf()
    try:
        shown.savefig(full, format="png")
    finally:
        plt.close(shown)
    with Image.open(full) as image:
        image.convert("RGB").quantize(256).save(small, format="png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(small.getvalue()).decode()}"


def _read(piece: str, suffix: str) -> str:
    file = FOLDER / f"{piece}.{suffix}"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _piece(tag: str, piece: str, suffix: str) -> str:
    text = code(piece, suffix)
    if not text:
        return ""
    if f"</{tag}" in text.lower():
        raise ValueError(f"{piece}.{suffix} contains </{tag}; write it as two strings.")
    # The loader runs at once; modules wait until a figure asks for them.
    kind = ' type="text/plain"' if tag == "script" and piece != LOADER else ""
    return f'<{tag}{kind} data-mhsa-piece="{key(piece, suffix)}">{text}</{tag}>'


def _base64(value: Any) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} cannot travel to a page; use JSON or bytes.")
    return base64.b64encode(value).decode()


def _inert(data: str) -> str:
    """JSON that no HTML parser can mistake for a tag."""
    return data.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
