"""Execute the notebooks that are stale, in an empty folder elsewhere, and store tidy outputs.

A notebook is fresh when every cell ran and the hashes in its metadata are those of its own
code cells and of what they import (``dependencies``). `--check` runs nothing: it names what is
stale, and why, and refuses it. `--first-cell` runs nothing either: it writes the cell that
fetches what is missing, with the language model where a notebook names it.

The text of a chapter quotes the times that its cells measured. A cell that measures has the
tag `stored-timing`, and while its own code is as it was its outputs stay as they are stored,
whatever machine runs the notebook again; `--measure` takes the new ones.
"""

import argparse
import copy
import hashlib
import os
import re
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tools import ROOT
from tools.build.dependencies import Library, changed, fingerprints
from tools.build.repository import bootstrap

FOLDER = ROOT / "notebooks"
TIMED = "stored-timing"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
SVG, PNG = "image/svg+xml", "image/png"
LARGEST_SVG = 80_000
DRAWINGS = [
    "--InlineBackend.figure_formats={'svg', 'png'}",
    "--InlineBackend.print_figure_kwargs={'bbox_inches': 'tight', 'metadata': {'Date': None}}",
]
"""A page shows a picture as SVG, sharp at any size; everybody else has it as PNG."""
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


def notebooks() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def code_cells(nb: Any) -> list[Any]:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def tags(cell: Any) -> set[str]:
    return set(cell.metadata.get("tags", []))


def cells_hash(nb: Any) -> str:
    """Return one hash for the code a reader sees: moving the repository makes nothing stale."""
    sources = [cell.source for cell in code_cells(nb) if cell.id != "bootstrap"]
    return hashlib.sha256("\0".join(sources).encode()).hexdigest()


def timed(nb: Any) -> dict[str, str]:
    """A hash for the code of each cell that measures times, by the cell's id."""
    return {
        cell.id: hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        for cell in code_cells(nb)
        if TIMED in tags(cell)
    }


@cache
def library() -> Library:
    """The packages of the book as they were when they were first asked for."""
    return Library(ROOT)


def plain_code(nb: Any) -> str:
    """The code of all cells as Python: commands for the notebook itself are left out."""
    lines = "\n".join(c.source for c in code_cells(nb) if c.id != "bootstrap").splitlines()
    return "\n".join("pass" if re.match(r"\s*[%!]", line) else line for line in lines)


def fingerprint(nb: Any) -> dict[str, Any]:
    needed = library().needed(plain_code(nb))
    return {"cells": cells_hash(nb), "modules": fingerprints(needed), "timed": timed(nb)}


def why_stale(nb: Any) -> str | None:
    """Say in words why a notebook has to run again; None when it does not."""
    ran, now = nb.metadata.get("mhsa", {}), fingerprint(nb)
    if any(cell.execution_count is None for cell in code_cells(nb)):
        return "has cells that were never executed"
    if ran.get("cells") != now["cells"]:
        return "its code changed after it was executed"
    if other := changed(ran.get("modules", {}), now["modules"]):
        return f"{' and '.join(other[:3])} changed after it was executed"
    first = [cell.source for cell in nb.cells if cell.id == "bootstrap"]
    if first not in [[each] for each in bootstraps(nb)]:
        return "its bootstrap cell is missing or not the common one"
    return None


def loads_language_model(nb: Any) -> bool:
    """Whether the code of a notebook names SmolLM2, which is 93 MB to fetch."""
    return "SmolLM2-135M" in plain_code(nb)


def bootstraps(nb: Any) -> list[str]:
    """The first cells that a notebook may have: with the language model if it loads that."""
    loads = loads_language_model(nb)
    return [bootstrap(device=sets, language_model=loads) for sets in (True, False)]


# --- execution -----------------------------------------------------------------------------


def place_bootstrap(nb: Any) -> None:
    """Put the common bootstrap cell after the title; one that sets no device stays so."""
    before = [cell for cell in nb.cells if cell.id == "bootstrap"]
    with_device, without = bootstraps(nb)
    sets_device = all("compute_on" in old.source for old in before)
    cell = nbformat.v4.new_code_cell(with_device if sets_device else without, id="bootstrap")
    cell.metadata["tags"] = ["remove-cell"]
    cell.execution_count = before[0].execution_count if before else None
    nb.cells = [old for old in nb.cells if old.id != "bootstrap"]
    nb.cells.insert(1, cell)


def execute(nb: Any) -> None:
    """Run all cells in an empty folder outside the repository, with this checkout's library."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as settings:
        # Otherwise the parts of a drawing have other names each time.
        drawing = Path(settings, "matplotlibrc")
        drawing.write_text("svg.hashsalt: mhsa\n", encoding="utf-8")
        NotebookClient(
            nb,
            timeout=120,
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR", *DRAWINGS],
            resources={"metadata": {"path": folder}},
        ).execute(
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "OMP_NUM_THREADS": "1",
                "MATPLOTLIBRC": str(drawing),
            }
        )


def measured(nb: Any) -> dict[str, Any]:
    """The stored outputs of cells that measure and have not changed since, by the cell's id."""
    ran = nb.metadata.get("mhsa", {}).get("timed", {})
    return {
        cell.id: copy.deepcopy(cell.outputs)
        for cell in code_cells(nb)
        if cell.outputs and cell.id in ran and ran[cell.id] == timed(nb).get(cell.id)
    }


def put_back(nb: Any, outputs: dict[str, Any]) -> None:
    """Show in cells what was stored of them."""
    for cell in code_cells(nb):
        cell.outputs = outputs.get(cell.id, cell.outputs)


# --- tidying -------------------------------------------------------------------------------


def normalise(nb: Any) -> None:
    """Keep what the reader sees and the tests compare; drop what depends on the machine."""
    kept = {key: nb.metadata[key] for key in ("mystnb",) if key in nb.metadata}
    nb.metadata = nbformat.from_dict({**kept, **KERNEL, "mhsa": fingerprint(nb)})
    nb.nbformat, nb.nbformat_minor = 4, 5
    for cell in nb.cells:
        keep = {key: cell.metadata[key] for key in ("mystnb", "tags") if key in cell.metadata}
        cell.metadata = nbformat.from_dict(keep)
        cell.pop("attachments", None)
    for cell in code_cells(nb):
        cell.outputs = merge_streams([out for out in map(tidy, cell.outputs) if out])


def tidy(output: Any) -> Any:
    """Return an output without its kernel's part; None when nothing is left for the page."""
    if output.output_type == "error":
        output.traceback = [f"{output.ename}: {output.evalue}"]
    if len(output.get("data", {}).get(SVG, "")) > LARGEST_SVG:
        del output.data[SVG]  # of many thousands of marks: pixels are smaller
    if WIDGET_VIEW in output.get("data", {}):
        del output.data[WIDGET_VIEW]
        return output if "text/html" in output.data else None
    return output


def merge_streams(outputs: list[Any]) -> list[Any]:
    """Join texts printed one after the other: where they are cut is chance."""
    merged: list[Any] = []
    for out in outputs:
        last = merged[-1] if merged else None
        if last and out.output_type == last.output_type == "stream" and out.name == last.name:
            last.text += out.text
        else:
            merged.append(out)
    return merged


# --- command -------------------------------------------------------------------------------


def refresh(path: Path, *, measure: bool = False) -> bool:
    """Execute and store one notebook, saying how long it took; False when a cell failed.

    With ``measure`` the times that were stored are replaced, too.
    """
    nb = nbformat.read(path, as_version=4)
    stored = {} if measure else measured(nb)
    place_bootstrap(nb)
    print(f"{path.stem}: {len(code_cells(nb))} code cells … ", end="", flush=True)
    start = time.perf_counter()
    try:
        execute(nb)
    except CellExecutionError as error:
        print(f"FAILED\n{error}")
        return False
    put_back(nb, stored)
    normalise(nb)
    nbformat.write(nb, path)
    print(f"{time.perf_counter() - start:.1f} s")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="run nothing; refuse what is stale"
    )
    parser.add_argument("--force", action="store_true", help="run the fresh ones too")
    parser.add_argument(
        "--measure", action="store_true", help="replace stored times by those of this machine"
    )
    parser.add_argument(
        "--first-cell", action="store_true", help="run nothing; write only the first code cells"
    )
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks (default: all)")
    args = parser.parse_args()
    paths = args.paths or notebooks()
    if not paths:
        print("there is no notebook in notebooks/")
        return 1
    if args.first_cell:
        for path in paths:
            nb = nbformat.read(path, as_version=4)
            place_bootstrap(nb)
            nbformat.write(nb, path)
        return 0
    reasons = {path: why_stale(nbformat.read(path, as_version=4)) for path in paths}
    stale = [path for path in paths if reasons[path] or args.force]
    if args.check:
        for path in stale:
            print(f"{path.stem} is stale: {reasons[path]}. Run `make notebooks`.")
        return len(stale) > 0
    print(f"{len(stale)} of {len(paths)} notebooks to run")
    return not all([refresh(path, measure=args.measure) for path in stale])


if __name__ == "__main__":
    sys.exit(main())
