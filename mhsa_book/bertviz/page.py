"""The page that BertViz writes, taken apart and put together again.

Nothing is guessed: each piece is found by its exact words or read as JSON, and a page of
another version of bertviz raises ``RuntimeError``.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from types import ModuleType
from typing import Any

CDN = "https://cdnjs.cloudflare.com/ajax/libs"
"""Where BertViz itself looks; there each library lies in a folder with its version."""

REQUIRE = f'<script src="{CDN}/require.js/2.3.6/require.min.js"></script>'
SCRIPT = '<script type="text/javascript">'
CODE = "requirejs(['jquery', 'd3'], function"
PARAMS = "const params = "
SELECT = '<select id="layer">'

NEURON_ID = "neuron-view"
NEURON_BODY = (
    f'<div id="{NEURON_ID}" style="padding:8px;font-family:Helvetica,Arial,sans-serif">'
    '<label class="dropdown-label">Layer: <select id="layer"></select></label> '
    '<label class="dropdown-label">Head: <select id="att_head"></select></label>'
    '<div id="vis" style="min-width:1004px"></div></div>'
)
"""Where the script of the neuron view draws: it looks for these ids.

The width makes a small screen scroll to what the script draws outside of its own picture."""

STYLE = (
    "body{margin:8px 8px 8px 24px;color:#000;background:#fff}"
    "svg{overflow:visible}#left text,#right text{font-size:13px}"
)


@dataclass(frozen=True)
class Template:
    """Bertviz's parameters, its HTML with their ``root_div_id``, its code before and after."""

    params: dict[str, Any]
    id: str
    body: str
    before: str
    after: str

    @classmethod
    def read(cls, html: str) -> "Template":
        """Take apart what ``bertviz.head_view`` or ``model_view`` returned."""
        _, html = cut(html, REQUIRE)
        body, script = cut(html, SCRIPT)
        _, code = cut(script, CODE)  # leaves out bertviz's own addresses
        before, rest = cut(code, PARAMS)
        params, end = json.JSONDecoder().raw_decode(rest)
        # The rest of the line is a comment, into which bertviz pastes the parameters again.
        _, rest = cut(rest[end:], "\n")
        after, _ = cut(rest, "</script>", last=True)
        return cls(params, params["root_div_id"], body, CODE + before + PARAMS, after)

    @classmethod
    def neuron(cls, script: str, params: dict[str, Any]) -> "Template":
        """Fill bertviz's ``neuron_view.js``; ``params`` also has the ``scale`` of the scores.

        The script keeps its words but for three: the addresses go, the parameters come from
        here, and a dot product is multiplied with ``scale`` and not divided by √d_head.
        """
        start = "requirejs(['jquery', 'd3'],"
        _, code = cut(script, start)
        before, rest = cut(code, PARAMS)
        _, rest = cut(rest, "window.bertviz_params")
        after, end = cut(rest, "dotProduct / Math.sqrt(config.vectorSize)")
        after = f"{after}dotProduct * params.scale{end}"
        return cls(params, NEURON_ID, NEURON_BODY, start + before + PARAMS, after)

    def page(self, id: str, libraries: str | Sequence[str], width: int, height: int) -> str:
        """A document that loads the libraries from the first address that answers, then draws.

        ``width`` and ``height`` are the pixels of the drawing.
        """
        folders = [libraries] if isinstance(libraries, str) else list(libraries)
        if not folders:
            raise ValueError("libraries names no address; give the folder of the libraries.")
        start, end = cut(self.body, f'id="{self.id}"')
        body = f'{start}id="{id}"{end}'.replace(SELECT, SELECT[:-1] + ' aria-label="Layer">')
        load = "".join(
            f"<script>window.requirejs || document.write({in_script(_load(folder))})</script>"
            for folder in folders
        )
        params = in_script(self.params | {"root_div_id": id})
        script = f"{unindented(self.before)}{params};\n{unindented(self.after)}"
        tried = escape(", ".join(folders))
        missing = f"<p>The libraries of this view did not load from {tried}.</p>"
        return (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width"><title>BertViz</title>'
            f"<style>{STYLE}</style></head><body><script>{_fit(width, height)}</script>"
            f"{body}{load}<script>if (window.requirejs) {{\n{script}\n}} "
            f"else document.write({in_script(missing)})</script></body></html>"
        )


def installed() -> ModuleType:
    """The package bertviz; without it ``ImportError`` says how to get it."""
    try:
        import bertviz
    except ImportError as error:
        raise ImportError(
            "this view needs bertviz; run `pip install mhsa_lib[bertviz]`."
        ) from error
    package: ModuleType = bertviz
    return package


def cut(text: str, at: str, last: bool = False) -> tuple[str, str]:
    """The text before and after the first, or last, occurrence of ``at``.

    >>> cut("one two", " ")
    ('one', 'two')
    """
    before, found, after = text.rpartition(at) if last else text.partition(at)
    if not found:
        raise RuntimeError(
            f"bertviz's page does not contain {at!r} where version 1.4 has it; "
            f"run `pip install 'bertviz>=1.4,<1.5'`."
        )
    return before, after


def unindented(script: str) -> str:
    r"""A script without the spaces that begin its lines, so that a page weighs less.

    >>> unindented("function () {\n    draw();\n}")
    'function () {\ndraw();\n}'
    """
    return re.sub(r"\n\s+", "\n", script)


def in_script(value: Any) -> str:
    r"""JSON that stays data inside a script: ASCII without <, > and &.

    >>> print(in_script("</script>"))
    "\u003c/script\u003e"
    """
    text = json.dumps(value, separators=(",", ":"))
    return text.translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&"})


def _load(folder: str) -> str:
    """Markup that loads require.js and, once it is there, says where the other two are."""
    paths = _addresses(folder.rstrip("/"))
    config = {"paths": {name: paths[name] for name in ("d3", "jquery")}}
    return (
        f'<script src="{escape(paths["require"])}.js"></script>'
        f"<script>window.requirejs && requirejs.config({in_script(config)})</script>"
    )


def _addresses(folder: str) -> dict[str, str]:
    """Where each library is, without its ending, which require.js adds."""
    if folder == CDN:
        return {
            "require": f"{CDN}/require.js/2.3.6/require.min",
            "d3": f"{CDN}/d3/5.7.0/d3.min",
            "jquery": f"{CDN}/jquery/2.0.0/jquery.min",
        }
    return {name: f"{folder}/{name}.min" for name in ("require", "d3", "jquery")}


def _fit(width: int, height: int) -> str:
    """Shrink the drawing to the frame, to 70 % at most, and the frame's height with it."""
    return (
        f"const zoom = Math.max(0.7, Math.min(1, innerWidth / {width}));"
        f"document.documentElement.style.zoom = zoom;"
        f"if (window.frameElement) frameElement.style.height = {height} * zoom + 'px';"
    )
