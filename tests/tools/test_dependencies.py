"""What makes a notebook stale: what it imports, however reached, and the data beside it."""

import pytest

from tools import ROOT
from tools.build.dependencies import Library, changed, fingerprints

FILES = {
    "__init__.py": "'All.'\nfrom mhsa_lib.watch import watch as watch\n"
    "from mhsa_lib.top import Top as Top",
    "top.py": "class Top:\n    def forward(self):\n"
    "        'Adds one.'\n        return 1  # one",
    "alone.py": "def alone():\n    return 0",
    "watch/__init__.py": "'Watch.'\nfrom mhsa_lib.watch.wires import watch as watch",
    "watch/wires.py": "def watch():\n    from mhsa_lib.watch import late\n    return late",
    "watch/late.py": "LATE = 1",
    "watch/source.py": "import inspect\ndef source(x):\n    return inspect.getsource(x)",
    "figures/__init__.py": "'Figures.'\nfrom mhsa_lib.figures.one import One as One\n"
    "from mhsa_lib.figures.two import Two as Two",
    "figures/shared/kit.js": "export const kit = 1;",
    "figures/base.py": "BASE = 1",
    "figures/one/__init__.py": "'One.'\nfrom mhsa_lib.figures.one.figure import One as One",
    "figures/one/figure.py": "from mhsa_lib.figures import base\nclass One:\n    kit = base",
    "figures/one/one.js": "draw(1);",
    "figures/two/__init__.py": "class Two: ...",
    "figures/two/two.js": "draw(2);",
    "run/__init__.py": "'Run.'",
    "run/__main__.py": "print(1)",
}


@pytest.fixture
def library(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def needed(folder, code):
    return {name.removeprefix("mhsa_lib.") for name in Library(folder).needed(code)}


FIGURE = {"figures.one.figure", "figures.base"}
CASES = {
    "from mhsa_lib import Top": {"top"},
    "from mhsa_lib import watch\nwatch()": {"watch.wires", "watch.late"},
    "from mhsa_lib.watch import watch": {"watch.wires", "watch.late"},
    "import mhsa_lib.alone": {"alone"},
    "from mhsa_lib import alone as other": {"alone"},
    "from mhsa_lib import figures\nfigures.One()": FIGURE,
    "from mhsa_lib.figures import One": FIGURE,
    "from mhsa_lib import figures\nprint(figures)": FIGURE | {"figures.two"},
    "from mhsa_lib.figures import two\ntwo.Two()": {"figures.two"},
    "from mhsa_lib import figures\nfigures.one.One()": FIGURE,
    'run(["python", "-m", "mhsa_lib.run"])': {"run.__main__"},
    "import torch": set(),
}


@pytest.mark.parametrize("code", CASES)
def test_a_name_leads_to_the_module_that_defines_it(code, library):
    assert needed(library, code) == CASES[code]


USED = "from mhsa_lib.figures import One\nfrom mhsa_lib import Top"
SHOWN = f"{USED}\nfrom mhsa_lib.watch.source import source"
EDITS = {
    "code": (USED, "top.py", "return 1", "return 2", ["mhsa_lib.top"]),
    "a comment": (USED, "top.py", "# one", "# two", []),
    "a docstring": (USED, "top.py", "Adds one.", "Adds two.", []),
    "a blank line": (USED, "top.py", "class", "\n\nclass", []),
    "a comment that is shown": (SHOWN, "top.py", "# one", "# two", ["mhsa_lib.top"]),
    "a docstring that is shown": (SHOWN, "top.py", "Adds one", "Adds 1", ["mhsa_lib.top"]),
    "shown in the cell": (
        f"{USED}\nprint(Top.forward.__doc__)",
        *("top.py", "Adds one", "Adds 1", ["mhsa_lib.top"]),
    ),
    "no forward, not shown": (SHOWN, "figures/base.py", "BASE", "# a\nBASE", []),
    "its script": (USED, "figures/one/one.js", "1", "3", ["mhsa_lib.figures.one.figure"]),
    "a shared script": (USED, "figures/shared/kit.js", "1", "3", ["mhsa_lib.figures.base"]),
    "another's script": (USED, "figures/two/two.js", "2", "3", []),
    "what is not imported": (USED, "alone.py", "0", "1", []),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_makes_stale_what_can_show_it(edit, library):
    code, name, old, new, stale = EDITS[edit]
    before = fingerprints(Library(library).needed(code))
    text = (library / name).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (library / name).write_text(text.replace(old, new), encoding="utf-8")
    assert changed(before, fingerprints(Library(library).needed(code))) == stale


def test_the_library_of_the_book_is_followed_through_its_rooms():
    library = Library(ROOT / "mhsa_lib")
    found = library.needed("from mhsa_lib import masks, trace\nmasks.causal\ntrace(1)")
    names = {name.removeprefix("mhsa_lib.") for name in found}
    assert {"masks.predicates", "trace.wires"} <= names
    assert {name.split(".")[0] for name in names}.isdisjoint({"bench", "widgets"})
