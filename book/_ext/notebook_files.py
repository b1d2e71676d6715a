"""A Sphinx extension: what a reader saves is the plain edition, from opened files as well.

Sphinx offers the sources of its pages. Beside a page lies, instead of the source with its MyST,
the notebook that `tools.build.plain` made of it.

Over http a link with ``download`` saves the notebook. From a file, browsers show it as text and
let no script read it; they do run scripts. So each notebook gets a script beside it that hands
its text to `saveNotebook` of `_static/book.js`, and is loaded only when a reader asks for it.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PLAIN = Path("_build", "plain")
"""Where `make plain` puts them."""


def script(notebook: Path) -> str:
    """Return the script that saves a notebook, letter for letter."""
    return f"saveNotebook({json.dumps(notebook.name)}, {json.dumps(notebook.read_text())});\n"


def write(app: Sphinx, exception: Any) -> None:
    """Put the plain notebooks in the place of the sources, and write the scripts."""
    if exception is None:
        for notebook in Path(app.outdir, "_sources").rglob("*.ipynb"):
            shutil.copyfile(Path(app.srcdir, PLAIN, notebook.name), notebook)
            notebook.with_name(f"{notebook.name}.js").write_text(script(notebook))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
