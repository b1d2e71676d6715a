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
def root(tmp_path):
    write(tmp_path, FILES)
    return tmp_path


def write(root, files, package="mhsa_lib"):
    for name, text in files.items():
        file = root / package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def needed(root, code):
    """The modules that code needs, those apart through which a name only passes."""
    names = {name.removeprefix("mhsa_lib.") for name in Library(root).needed(code)}
    return names - {"mhsa_lib", "watch", "figures", "figures.one"}


FIGURE = {"figures.one.figure", "figures.base"}
CASES = {
    "from mhsa_lib import Top": {"top"},
    "from mhsa_lib import watch\nwatch()": {"watch.wires", "watch.late"},
    "from mhsa_lib.watch import watch": {"watch.wires", "watch.late"},
    "import mhsa_lib.alone": {"alone"},
    "import mhsa_lib.alone\nmhsa_lib.alone.alone()": {"alone"},
    "from mhsa_lib import alone as other": {"alone"},
    "from mhsa_lib import figures\nfigures.One()": FIGURE,
    "from mhsa_lib.figures import One": FIGURE,
    "from mhsa_lib import figures\nprint(figures)": FIGURE | {"figures.two"},
    "from mhsa_lib.figures import *\nOne()": FIGURE | {"figures.two"},
    "from mhsa_lib.figures import two\ntwo.Two()": {"figures.two"},
    "from mhsa_lib import figures\nfigures.one.One()": FIGURE,
    'run(["python", "-m", "mhsa_lib.run"])': {"run.__main__"},
    "import torch": set(),
}


@pytest.mark.parametrize("code", CASES)
def test_a_name_leads_to_the_module_that_defines_it(code, root):
    assert needed(root, code) == CASES[code]


def stale_after(root, code, name, old, new):
    """The modules for which an edit makes stale what the code has shown."""
    before = fingerprints(Library(root).needed(code))
    file = root / name
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")
    return changed(before, fingerprints(Library(root).needed(code)))


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
    "before what is shown": (SHOWN, "figures/base.py", "BASE", "# a\nBASE", []),
    "its script": (USED, "figures/one/one.js", "1", "3", ["mhsa_lib.figures.one.figure"]),
    "a shared script": (USED, "figures/shared/kit.js", "1", "3", ["mhsa_lib.figures.base"]),
    "another's script": (USED, "figures/two/two.js", "2", "3", []),
    "what is not imported": (USED, "alone.py", "0", "1", []),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_makes_stale_what_can_show_it(edit, root):
    code, name, old, new, stale = EDITS[edit]
    assert stale_after(root, code, f"mhsa_lib/{name}", old, new) == stale


# One module of many definitions: what a change in it reaches, and what it does not.
MANY = {
    "__init__.py": "",
    "rules/__init__.py": "from mhsa_lib.rules.all import used as used\n"
    "from mhsa_lib.rules.all import other as other\n",
    "rules/all.py": """\
import math
from dataclasses import dataclass
from mhsa_lib.deep import helper, second
from mhsa_lib import chosen
from mhsa_lib.tables import kept

SIZE = 3
UNUSED = 4
TABLE = {}
TABLE["acts"] = 5


def wrapped(function):
    return lambda *given: function(*given) + 6


@dataclass
class Base:
    def inherited(self) -> "Later":
        return math.sqrt(7)


class Rule(Base):
    def method(self):
        return SIZE


@wrapped
def used(x=Rule()):
    return helper(x)


def other():
    return UNUSED + second()


class Later:
    said = 8


def by_string():
    return globals()["hidden"]()


def hidden():
    return 9


def starred():
    from mhsa_lib.stars import everything
    return everything()


@kept
def registered():
    return 10


def discovered():
    return chosen.load("plug")


def asking():
    return Later.__module__.startswith(("mhsa_lib.", "torch."))


def running(run, name):
    return run("mhsa_lib." + name)
""",
    "deep.py": "from mhsa_lib.deeper import inner\n\n\ndef helper(x):\n    return inner() + 11"
    "\n\n\ndef second():\n    return 12\n",
    "deeper.py": "STEP = 13\n\n\ndef inner():\n    return STEP\n",
    "stars.py": "from mhsa_lib.sky import *\n\n\ndef everything():\n    return 14\n",
    "sky.py": "def star():\n    return 15\n",
    "tables.py": "KEPT = []\n\n\ndef kept(f):\n    KEPT.append(f)\n    return f\n",
    "chosen/__init__.py": "from importlib import import_module\n\n\ndef load(name):\n"
    '    return import_module(f"{__package__}.{name}").plug()\n',
    "chosen/plug.py": "def plug():\n    return 16\n",
}
RULES = "from mhsa_lib import rules\n"
PLANTED = {
    "itself": ("used", "rules/all.py", "return helper(x)", "return -helper(x)", True),
    "a helper": ("used", "deep.py", "+ 11", "+ 0", True),
    "a helper of a helper": ("used", "deeper.py", "return STEP", "return -STEP", True),
    "a constant of that": ("used", "deeper.py", "STEP = 13", "STEP = 0", True),
    "a constant of a method": ("used", "rules/all.py", "SIZE = 3", "SIZE = 0", True),
    "a method": ("used", "rules/all.py", "return SIZE", "return -SIZE", True),
    "a method of a base": ("used", "rules/all.py", "sqrt(7)", "sqrt(0)", True),
    "a decorator": ("used", "rules/all.py", "+ 6", "+ 0", True),
    "a class decorator": ("used", "rules/all.py", "@dataclass\n", "@dataclass()\n", True),
    "a default": ("used", "rules/all.py", "x=Rule()", "x=Base()", True),
    "an annotation that is a string": ("used", "rules/all.py", "said = 8", "said = 0", True),
    "a statement that acts": ("used", "rules/all.py", '["acts"] = 5', '["acts"] = 0', True),
    "what a decorator keeps": ("used", "rules/all.py", "return 10", "return 0", True),
    "an import of another thing": (
        *("used", "rules/all.py", "deep import helper, second"),
        *("deep import second as helper, helper as second", True),
    ),
    "an import of another module": (
        "used",
        "rules/all.py",
        "import math",
        "import cmath as math",
        True,
    ),
    "a re-export": (
        *("used", "rules/__init__.py", "all import used as used"),
        *("all import hidden as used", True),
    ),
    "a name that is bound again": (
        *("used", "rules/all.py", "class Later", "helper = abs\n\n\nclass Later", True),
    ),
    "another function": ("used", "rules/all.py", "return UNUSED +", "return 1 +", False),
    "another constant": ("used", "rules/all.py", "UNUSED = 4", "UNUSED = 0", False),
    "another function of a helper's module": (
        "used",
        "deep.py",
        "return 12",
        "return 0",
        False,
    ),
    "a new definition": (
        *("used", "rules/all.py", "class Later", "def new():\n    return 1\n\n\nclass Later"),
        False,
    ),
    "another re-export": (
        "used",
        "rules/__init__.py",
        "other as other",
        "hidden as other",
        False,
    ),
    "looked up in globals()": ("by_string", "rules/all.py", "return 9", "return 0", True),
    "imported by a computed name": (
        "discovered",
        "chosen/plug.py",
        "return 16",
        "return 0",
        True,
    ),
    "beside the prefix that a name is asked for": (
        *("asking", "deep.py", "return 12", "return 0"),
        False,
    ),
    "below the prefix of a command": ("running", "deep.py", "return 12", "return 0", True),
    "in a module imported by a star": ("starred", "sky.py", "return 15", "return 0", True),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_change_counts_for_what_reaches_it_and_for_nothing_else(planted, tmp_path):
    asked, name, old, new, stale = PLANTED[planted]
    write(tmp_path, MANY)
    code = f"from mhsa_lib.rules.all import {asked}\n{asked}()"
    code = f"{RULES}rules.used()" if asked == "used" else code
    assert bool(stale_after(tmp_path, code, f"mhsa_lib/{name}", old, new)) == stale


def test_an_attribute_that_is_computed_asks_for_the_whole_module(tmp_path):
    write(tmp_path, MANY)
    code = 'from mhsa_lib.rules import all\ngetattr(all, "hid" + "den")()'
    assert stale_after(tmp_path, code, "mhsa_lib/rules/all.py", "return 9", "return 0")


EXERCISES = {
    "__init__.py": "",
    "exercises/__init__.py": "from mhsa_lib.exercises.check import check as check\n",
    "exercises/check.py": "from mhsa_lib.exercises import one, two\nROOMS = (one, two)\n"
    "ALL = {k: v for room in ROOMS for k, v in room.EXERCISES.items()}\n"
    "def check(name):\n    return ALL[name]\n",
    "exercises/one.py": 'EXERCISES = {"first": 1}\n',
    "exercises/two.py": "from mhsa_lib.help import HELP\n"
    'EXERCISES: dict[str, int] = {"second": HELP}\n',
    "help.py": "HELP = 2\n",
}


@pytest.mark.parametrize(
    ("name", "stale"), [('"first"', False), ('"second"', True), ('"sec" + "ond"', True)]
)
def test_an_exercise_is_reached_by_its_name(name, stale, tmp_path):
    write(tmp_path, EXERCISES)
    code = f"from mhsa_lib import exercises\nexercises.check({name})"
    assert bool(stale_after(tmp_path, code, "mhsa_lib/help.py", "2", "3")) == stale


def test_the_second_package_is_followed_into_the_first(tmp_path):
    write(tmp_path, MANY)
    drawn = "from mhsa_lib.rules import used\n\n\ndef draw():\n    return used()\n"
    write(tmp_path, {"__init__.py": "", "plots.py": drawn}, "mhsa_book")
    code = "from mhsa_book import plots\nplots.draw()"
    assert stale_after(tmp_path, code, "mhsa_lib/deeper.py", "13", "0") == ["mhsa_lib.deeper"]
    assert stale_after(tmp_path, code, "mhsa_book/plots.py", "used()", "-used()") == [
        "mhsa_book.plots"
    ]


def test_the_packages_of_the_book_are_followed_through_their_rooms():
    found = Library(ROOT).needed("from mhsa_lib import masks, trace\nmasks.causal\ntrace(1)")
    wanted = {f"mhsa_lib.{name}" for name in ("masks.predicates", "tracing.wires")}
    assert wanted <= found.keys()
    assert {name.split(".")[1] for name in found if "." in name}.isdisjoint(
        {"bench", "widgets"}
    )
