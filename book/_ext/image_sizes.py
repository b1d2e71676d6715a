"""A Sphinx extension: a picture says how large it is before it is there.

So a browser leaves room for it, and what stands below does not move when it comes.
"""

import re
from pathlib import Path
from typing import Any

from PIL import Image
from sphinx.application import Sphinx

PICTURE = re.compile(
    r'<img (?![^>]*\bwidth=)([^>]*\bsrc="(?:\.\./)*_images/([^"]+\.(?:png|svg))")'
)
DRAWING = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt"\s+height="([\d.]+)pt"|<svg\b[^>]*>')
"""The size of matplotlib's drawing: in points, of which 72 are an inch and 96 pixels."""


def size_of(file: Path) -> tuple[int, int] | None:
    """Width and height in pixels; None for an SVG that does not say them in points."""
    if file.suffix == ".svg":
        found = DRAWING.search(file.read_text(encoding="utf-8"))
        if found is None or found[1] is None:
            return None
        return round(float(found[1]) * 96 / 72), round(float(found[2]) * 96 / 72)
    with Image.open(file) as picture:
        width, height = picture.size
    return width, height


def sized(html: str, files: dict[str, Path]) -> str:
    """Write width and height into the pictures of one page; `files` has them by their names."""

    def size(found: re.Match[str]) -> str:
        if (file := files.get(found[2])) is None:
            return found[0]
        if (pixels := size_of(file)) is None:
            return found[0]
        width, height = pixels
        return f'<img width="{width}" height="{height}" {found[1]}'

    return PICTURE.sub(size, html)


def measure(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Measure the pictures of one page."""
    if "body" in context:
        files = {name: Path(app.srcdir, file) for file, name in app.builder.images.items()}
        context["body"] = sized(context["body"], files)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", measure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
