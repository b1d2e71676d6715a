"""Begin a chapter: a notebook in the form that every chapter keeps, and its line in _toc.yml.

python -m tools.build.chapter 06_masks "Masks: who may look at whom?"

What stands in it is there to be replaced: it runs, and passes the tests of the form, so that a
chapter is whole from its first minute on.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import nbformat

from tools import ROOT
from tools.build.notebooks import FOLDER, place_bootstrap

IMPORTS = """\
import torch

from mhsa_book import examples, exercises, widgets
"""
QUIZ = """\
widgets.Predict(
    "Which axes do the weights have?",
    "(batch, head, query, key)" if wires["weights"].ndim == 4 else "(query, key)",
    wrong={"(query, key)": "Every sentence and every head has weights of its own."},
    options=["(batch, head, query, key)", "(query, key)"],
)"""
REMEMBER = ":::{admonition} Remember\n:class: tip\nThe three sentences that stay.\n:::"
EXERCISES = {  # by the name of each: the function to write, and a solution
    "Split": ("split_heads(x, n_heads)", "x.unflatten(-1, (n_heads, -1)).transpose(-2, -3)"),
    "Merge": ("concat_heads(z)", "z.transpose(-2, -3).flatten(-2)"),
    "Forbid": (
        "causal_mask(n_query, n_key)",
        "torch.ones(n_query, n_key).tril(n_key - n_query).bool()",
    ),
}


def skeleton(label: str, title: str) -> list[Any]:
    """The cells of a new chapter, the bootstrap cell apart."""
    text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    cells = [
        text(f"# {title}\n\nSay why the reader should want to know."),
        text("## What you will be able to do\n\n- Say what a reader can do afterwards."),
        text("## Before you start\n\nName the chapters that this one needs."),
        code(IMPORTS),
        text("## The first step\n\nSay what comes, and let the reader predict it."),
        code("wires = examples.running()"),
        code(QUIZ, metadata={"tags": ["hide-input"]}),
        text("Say what was seen, and why it is so."),
        code('print(tuple(wires["weights"].shape))'),
        text(f"## What to remember\n\n{REMEMBER}\n\n## Exercises"),
    ]
    for title, (function, solution) in EXERCISES.items():
        key, name = f"{label}-{title.lower()}", function.partition("(")[0]
        check = f'exercises.check("{name}", {name})'
        cells += [
            text(f":::{{exercise-start}} {title}\n:label: {key}\n:::\nWrite `{function}`."),
            code(f"def {function}: ...\n\n\n{check}"),
            text(
                f":::{{exercise-end}}\n:::\n\n:::{{solution-start}} {key}\n"
                ":class: dropdown\n:::\nOne line."
            ),
            code(f"def {function}:\n    return {solution}\n\n\n{check}"),
            text(":::{solution-end}\n:::"),
        ]
    return [*cells, text("## Sources\n\nSay where each statement comes from.")]


def into_toc(text: str, stem: str, title: str) -> str:
    r"""Put a chapter's lines before the next chapter by number; the sidebar shows its name.

    >>> print(into_toc("- file: notebooks/07_concat", "06_masks", "06 Masks: who looks?"))
    - file: notebooks/06_masks
      title: 06 Masks
    - file: notebooks/07_concat
    """
    lines = text.splitlines(keepends=True)
    for i, line in enumerate(lines):
        listed = re.match(r"(\s*)- file: notebooks/(\w+)", line)
        if listed and listed[2] > stem:
            own = f"- file: notebooks/{stem}", f"  title: {title.partition(':')[0]}"
            lines[i:i] = [f"{listed[1]}{part}\n" for part in own]
            return "".join(lines)
    raise ValueError(f"{stem} comes after every chapter of _toc.yml; write its line by hand.")


def begin(stem: str, title: str, root: Path = ROOT) -> Path:
    """Write the notebook and its line; raise for a name or a title that no chapter can have."""
    if not re.fullmatch(r"\d\d[a-z]?_[a-z0-9_]+", stem):
        raise ValueError(
            f"{stem!r} is no name of a chapter; use two digits and words: 06_masks."
        )
    if not re.fullmatch(r"[^:]+: .*\?", title):
        raise ValueError(
            f"{title!r} asks nothing; a title is a name and its question: Masks: why?"
        )
    number, _, name = stem.partition("_")
    title = f"{number} {title}"
    file, toc = root / FOLDER.name / f"{stem}.ipynb", root / "_toc.yml"
    if file.exists():
        raise FileExistsError(f"{file} is there already; choose another name.")
    listed = into_toc(toc.read_text(encoding="utf-8"), stem, title)
    nb = nbformat.v4.new_notebook()
    nb.cells = skeleton(name.replace("_", "-"), title)
    for i, cell in enumerate(nb.cells):
        cell.id = f"{number}-{i:03}"
    place_bootstrap(nb)
    nbformat.write(nb, file)
    toc.write_text(listed, encoding="utf-8")
    return file


def main() -> None:
    """Read the name and the title, and begin."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("stem", help="number and name: 06_masks")
    parser.add_argument("title", help='with its question: "Masks: who may look at whom?"')
    arguments = parser.parse_args()
    try:
        file = begin(arguments.stem, arguments.title)
    except (FileExistsError, ValueError) as error:
        sys.exit(str(error))
    print(f"{file.relative_to(ROOT)} is there, and its line in _toc.yml. Next: make notebooks")


if __name__ == "__main__":
    main()
