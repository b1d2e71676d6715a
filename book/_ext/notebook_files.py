"""A Sphinx extension: a notebook can be saved from a book that was opened from files.

Over http a link with ``download`` saves the notebook. From a file, browsers show it as text and
let no script read it; they do run scripts. So each notebook gets a script beside it that hands
its text to `saveNotebook` of `_static/book.js`, and is loaded only when a reader asks for it.
"""

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def script(notebook: Path) -> str:
    """Return the script that saves a notebook, letter for letter."""
    return f"saveNotebook({json.dumps(notebook.name)}, {json.dumps(notebook.read_text())});\n"


def write(app: Sphinx, exception: Any) -> None:
    """Write the scripts, if the book was built."""
    if exception is None:
        for notebook in Path(app.outdir, "_sources").rglob("*.ipynb"):
            notebook.with_name(f"{notebook.name}.js").write_text(script(notebook))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
