"""A Sphinx extension: an old address of a page still leads there, anchors included.

Without JavaScript the page leads on, too, to its top. It works from opened files as well.
"""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

MOVED = {"notebooks/00_primer": "notebooks/primer"}
"""Pages that had another name, in the same folder."""

LEADS_ON = """<!doctype html>
<html lang="en">
<meta charset="utf-8" />
<title>This page has moved</title>
<link rel="canonical" href="{0}" />
<script>location.replace("{0}" + location.search + location.hash);</script>
<meta http-equiv="refresh" content="0; url={0}" />
<p>This page has moved: <a href="{0}">{0}</a></p>
</html>
"""


def write(app: Sphinx, exception: Any) -> None:
    """Write a page at each old address; nothing after an error."""
    if exception is None and app.builder.format == "html":
        for old, new in MOVED.items():
            page = Path(app.outdir, f"{old}.html")
            page.write_text(LEADS_ON.format(f"{Path(new).name}.html"), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
