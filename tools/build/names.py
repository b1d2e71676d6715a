"""The names of both packages that the notebooks need, kept for the version they install.

python -m tools.build.names

Every notebook fetches the library at the tag of its version. Once that version is released, a
notebook that needs a name of a later one would fail for whoever opens it, and nobody else. So
the names are kept in ``names.txt`` below the version. They may grow while CHANGELOG.md calls it
unreleased; after that, the version has to be raised first.
"""

import ast
import re
import sys
from pathlib import Path

import nbformat

from tools import PACKAGES, ROOT
from tools.build.notebooks import library, notebooks, plain_code
from tools.build.repository import project

FILE = Path(__file__).with_name("names.txt")


def needed(code: str, modules: set[str]) -> set[str]:
    r"""Full names that code takes from the library, attributes of its modules included.

    >>> sorted(needed("from mhsa_lib import masks as m\nm.causal", {"mhsa_lib.masks"}))
    ['mhsa_lib.masks', 'mhsa_lib.masks.causal']
    """
    tree, found, bound = ast.parse(code), set[str](), dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in PACKAGES:
            for each in node.names:
                full = f"{node.module}.{each.name}"
                found.add(full)
                if full in modules:
                    bound[each.asname or each.name] = full
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (name := ast.unparse(node.value)) in bound:
            found.add(f"{bound[name]}.{node.attr}")
    return found


def of_all_notebooks() -> set[str]:
    """What the notebooks need together."""
    modules = set(library().files)
    codes = [plain_code(nbformat.read(path, as_version=4)) for path in notebooks()]
    return set[str]().union(*(needed(code, modules) for code in codes))


def kept() -> tuple[str, set[str]]:
    """The version in ``names.txt``, and its names."""
    version, *names = FILE.read_text(encoding="utf-8").split()
    return version, set(names)


def is_released(version: str, changelog: str) -> bool:
    """Whether the changelog dates a version.

    >>> [is_released("0.2.0", f"## 0.2.0, {when}") for when in ("unreleased", "2027-01-31")]
    [False, True]
    """
    heading = re.search(rf"^## {re.escape(version)}, (.*)$", changelog, re.MULTILINE)
    return heading is not None and heading[1] != "unreleased"


def refusal(needs: set[str], version: str, changelog: str) -> str:
    """Why these names cannot be those of a version; empty where they can."""
    old, names = kept()
    new = sorted(needs - names)
    if old != version or not new or not is_released(version, changelog):
        return ""
    return f"{version} is released without {', '.join(new)}: raise the version first."


def main() -> None:
    """Write the names, unless they would be promised for a version that is out."""
    needs, version = of_all_notebooks(), project()["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if why := refusal(needs, version, changelog):
        sys.exit(why)
    FILE.write_text("\n".join([version, *sorted(needs)]) + "\n", encoding="utf-8")
    print(f"{len(needs)} names of {version} in {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
