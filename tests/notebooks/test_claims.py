"""The page of checked claims and the cells that settle them name each other."""

import ast
import builtins
import json
import re
from functools import cache
from pathlib import Path

from mhsa_book import examples

ROOT = Path(__file__).parent.parent.parent
TARGET = re.compile(r"^\((claim-[a-z0-9-]+)\)=$", flags=re.MULTILINE)
LINK = re.compile(r"\{ref\}`[^`<]*<(claim-[a-z0-9-]+)>`")
COLLECTED = {"a0": 47, "a1": 25, "a2": 15, "a3": 11, "a4": 10}
"""How many statements each of five texts makes about attention; a1-3 is the third of a1."""


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@cache
def page() -> str:
    return (ROOT / "book" / "claims.md").read_text(encoding="utf-8")


@cache
def reference():
    return read(ROOT / "notebooks" / "a1_claims_settled.ipynb")


def is_quiz(cell) -> bool:
    return "hide-input" in cell["metadata"].get("tags", [])


def settling_cells() -> dict[str, str]:
    """Every target and its next code cell; with the one after a quiz, where a quiz follows."""
    cells: dict[str, str] = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        waiting: list[str] = []
        notebook = read(path)
        for i, cell in enumerate(notebook):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                targets = TARGET.findall(source)
                assert not set(targets) & cells.keys(), f"{path.name} repeats a target"
                waiting += targets
                cells |= dict.fromkeys(targets, "")
                continue
            for claim in waiting:
                cells[claim] += source
            later = next((c for c in notebook[i + 1 :] if c["cell_type"] == "code"), None)
            if not is_quiz(cell) and not (later and is_quiz(later)):
                waiting = []
        assert not waiting, f"{path.name}: no cell follows {waiting}"
    return cells


def collected() -> set[str]:
    return {f"claim-{text}-{i + 1}" for text, n in COLLECTED.items() for i in range(n)}


def test_every_claim_is_settled_by_an_assertion_or_is_called_a_quotation():
    silent = {claim for claim, source in settling_cells().items() if "assert" not in source}
    assert silent == {claim for claim, text in entries().items() if "*A quotation.*" in text}


def test_the_page_lists_every_claim_once_and_nothing_else():
    listed = LINK.findall(page())
    assert len(listed) == len(set(listed))
    assert set(listed) == settling_cells().keys()


def test_the_page_says_how_much_of_the_collection_is_settled(say):
    rows = {LINK.search(line)[1]: line for line in page().splitlines() if LINK.search(line)}
    entered = collected() & rows.keys()
    settled = {claim for claim in entered if "*Open:*" not in rows[claim]}
    said = (
        f"Coverage: of {len(collected())} statements that were collected from five texts, "
        f"{len(entered)} have an entry, and {len(settled)} of them leave nothing open."
    )
    say("Claims", [said])
    assert said in page()
    assert len(settled) >= 98


def test_a_chapter_counts_on_the_sentences_of_the_reference():
    """05a says that its counts of MiniLM's heads are those of the entry."""
    common = "\n".join("".join(cell["source"]) for cell in reference())
    assert [text for text in examples.TEXTS if f'"{text}"' not in common] == []


# --- the reference ---------------------------------------------------------------------------


def entries() -> dict[str, str]:
    """The text of each entry of the appendix, by its claims."""
    texts = ["".join(c["source"]) for c in reference() if c["cell_type"] == "markdown"]
    return {claim: text for text in texts for claim in TARGET.findall(text)}


def test_the_reference_and_the_page_have_one_order():
    ours = list(entries())
    assert [claim for claim in LINK.findall(page()) if claim in ours] == ours


def test_they_give_one_verdict():
    """An entry for several claims may give several."""
    verdict = {claim: word for word, claim in re.findall(r"\{ref\}`(\w+) <(.+?)>`", page())}
    differ = [
        claim
        for claim, text in entries().items()
        if verdict[claim].lower() not in " ".join(re.findall(r"\*\*(.+?)\*\*", text)).lower()
    ]
    assert differ == []


def test_what_is_open_rests_on_a_source():
    rows = [line for line in page().splitlines() if "*Open:*" in line]
    from_source = [claim for claim, text in entries().items() if "*From the source.*" in text]
    assert sorted(LINK.search(row)[1] for row in rows) == sorted(from_source)


def names(code: str) -> tuple[set[str], set[str]]:
    """The names that a cell uses, and those that it makes anywhere inside."""
    nodes = list(ast.walk(ast.parse(code)))
    found = [node for node in nodes if isinstance(node, ast.Name)]
    used = {node.id for node in found if isinstance(node.ctx, ast.Load)}
    made = {node.id for node in found if isinstance(node.ctx, ast.Store)}
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    made |= {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    made |= {
        (alias.asname or alias.name).partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return used, made


def test_every_cell_of_the_reference_runs_by_itself():
    """After the imports and the cell below them; and it leaves their names alone."""
    codes = [
        (cell["id"], "".join(cell["source"]))
        for cell in reference()
        if cell["cell_type"] == "code" and cell["id"] != "bootstrap"
    ]
    (_, imports), (_, common), *cells = codes
    given = names(imports)[1] | names(common)[1] - gone_after(common)
    for place, code in cells:
        used, made = names(code)
        assert used - made - given - set(dir(builtins)) == set(), place
        assert made & given <= gone_after(code), place


def gone_after(code: str) -> set[str]:
    """Names of arguments and of comprehensions: they are gone when the cell is done."""
    inside = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.arg):
            inside.add(node.arg)
        if isinstance(node, ast.comprehension):
            inside |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    return inside


def test_the_numbers_of_papers_are_those_of_the_references():
    references = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    titles, places = {}, {}
    for entry in re.split(r"\btitle=\{", references)[1:]:
        title, number = entry.split("},")[0], re.search(r"eprint=.(\d{4}\.\d{5})", entry)
        if number:
            titles[number[1]] = re.sub(r"[{}]", "", title)
            places[number[1]] = entry.split("eprint=")[0]
    cells = settling_cells()
    listed = re.findall(r"(\d{4}\.\d{5}) (.+?)\"*$", cells["claim-a0-47"], re.MULTILINE)
    listed += re.findall(r"(\d{4}\.\d{5}) (.+?)\"*$", cells["claim-a1-25"], re.MULTILINE)
    assert len(listed) == 11 + 6
    assert [n for n, title in listed if not titles.get(n, "").startswith(title)] == []
    venues = re.findall(r'"(\d{4}\.\d{5})": "(\w+) (\d{4})"', cells["claim-a1-25"])
    assert len(venues) == 3
    series = {"NeurIPS": "Neural Information Processing Systems"}
    for number, venue, year in venues:
        assert re.search(rf"booktitle=.*\b{series.get(venue, venue)}\b", places[number])
        assert f"year={{{year}}}" in places[number]
