"""The first cell of a real notebook, in a fresh environment with the versions that Colab has.

Its packages come from Colab's own list (tools/check/colab.txt), so they are others than those
that requirements.txt pins: IPython 7, traitlets 5.7, numpy 2.1 … Only torch, which is too big
to install a second time, is borrowed from this environment, with what nobody but torch needs.

The cell is not changed. Git is told by its own configuration to look for the address of the
repository in a bare one on this machine, which holds this checkout as it is now, and the tag.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution, distributions
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from packaging.utils import canonicalize_name

from tests.helpers.colab import added, had
from tests.helpers.distributions import closure, link
from tools import PACKAGES, ROOT
from tools.build.repository import project

LIGHT = ROOT / "notebooks" / "primer.ipynb"
NAMED = "numpy scipy matplotlib transformers ipywidgets ipykernel"
# What these import; pip would add a notebook server, which Colab does not run either.
BELOW = """pip packaging six typing-extensions tqdm pyyaml
contourpy cycler kiwisolver pillow pyparsing python-dateutil
ipython traitlets backcall decorator parso pexpect ptyprocess pickleshare prompt-toolkit
pygments wcwidth matplotlib-inline jupyter-client jupyter-core entrypoints nest-asyncio
ipython-genutils platformdirs psutil pyzmq tornado
huggingface-hub tokenizers safetensors regex filelock fsspec httpx httpcore h11 anyio idna
certifi click typer jinja2 markupsafe"""

SENTENCE = (
    r"mhsa_lib and mhsa_book could not be fetched .*: connect to the internet and run this "
    r"cell again, or %pip install the wheel mhsa_lib-[\d.]+-py3-none-any\.whl, which is at "
    r"https://\S+/releases\."
)


def pip(*words: str, python: Path | str = sys.executable) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pip", "--python", str(python), "-qq", *words]
    return subprocess.run(command, capture_output=True, text=True)


class Fresh:
    """An environment of its own, with what Colab has of the above, and a kernel in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv, self.python = folder / "venv", folder / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        (self.site,) = venv.glob("lib/python3*/site-packages")
        names = {*NAMED.split(), *BELOW.split(), *(added() & had().keys())}
        exact = [f"{name}=={had()[name]}" for name in sorted(names)]
        done = pip(
            *("install", "--no-deps", "--no-compile", "--only-binary", ":all:", *exact),
            python=self.python,
        )
        if done.returncode:
            if pip("download", "--no-deps", "-d", str(folder), "einops").returncode:
                pytest.skip("PyPI cannot be reached, so there is no fresh environment")
            pytest.fail(done.stderr)
        for dist in [distribution("torch"), *closure(distribution("torch")).values()]:
            if canonicalize_name(dist.name) not in self.versions():
                link(dist, self.site)
        spec = {
            "argv": [str(self.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": "fresh",
            "language": "python",
        }
        kernel = folder / "kernels" / "fresh" / "kernel.json"
        kernel.parent.mkdir(parents=True)
        kernel.write_text(json.dumps(spec), encoding="utf-8")

    def versions(self) -> dict[str, str]:
        """What `pip freeze` would say."""
        found = distributions(path=[str(self.site)])
        return {canonicalize_name(dist.name): dist.version for dist in found}

    def entries(self) -> set[str]:
        """What is installed, as files and folders; what Python compiled on its way is not."""
        return {path.name for path in self.site.iterdir()} - {"__pycache__"}

    def run(self, cells: list[Any], repository: Path) -> Any:
        """Run cells where the book's address leads to another repository."""
        nb = nbformat.v4.new_notebook(cells=cells)
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{repository}.insteadOf",
            "GIT_CONFIG_VALUE_0": project()["address"],
            "IPYTHONDIR": str(self.folder / "ipython"),
            "MPLCONFIGDIR": str(self.folder / "matplotlib"),
            "OMP_NUM_THREADS": "1",
        }
        where = {"metadata": {"path": str(self.folder)}}
        client = NotebookClient(nb, timeout=300, kernel_name="fresh", resources=where)
        return client.execute(env=env)


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("PIP_RETRIES", "1")
    return Fresh(tmp_path)


@pytest.fixture
def tagged(tmp_path):
    """A bare repository with this checkout, edits included, under the tag of its version."""
    bare = tmp_path / "bare"
    git = ["git", f"--git-dir={bare}", f"--work-tree={ROOT}", "-c", "user.name=a"]
    git += ["-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "init", "--quiet", "--bare", bare], check=True)
    for words in (
        ["add", "--", "pyproject.toml", "README.md", "LICENSE", *PACKAGES],
        ["commit", "--quiet", "--no-verify", "-m", "as it is"],
        ["tag", f"v{project()['version']}"],
    ):
        subprocess.run([*git, *words], cwd=ROOT, check=True)
    return bare


def test_these_versions_are_not_the_pinned_ones():
    pinned = (ROOT / "requirements.txt").read_text(encoding="utf-8").lower().split()
    assert [name for name in NAMED.split() if f"{name}=={had()[name]}" in pinned] == []


@pytest.mark.skipif(shutil.which("git") is None, reason="pip fetches the library with git")
def test_the_first_cell_says_what_to_do_or_fetches_the_library(fresh, tagged):
    notebook = nbformat.read(LIGHT, as_version=4)
    (first,) = [cell for cell in notebook.cells if cell.id == "bootstrap"]
    before = fresh.versions()

    # The address cannot be reached: one sentence, and nothing half installed.
    entries = fresh.entries()
    with pytest.raises(CellExecutionError) as refused:
        fresh.run([first], fresh.folder / "nowhere")
    assert refused.value.ename == "ModuleNotFoundError"
    assert re.fullmatch(SENTENCE, refused.value.evalue)
    assert fresh.entries() == entries

    # It can: the whole notebook runs, from top to bottom, and its first cell once more.
    more = [first.source, "import mhsa_book.models; print(mhsa_book.__file__)"]
    nb = fresh.run([*notebook.cells, *map(nbformat.v4.new_code_cell, more)], tagged)
    again, where = nb.cells[-2:]
    assert again.outputs == []
    assert where.outputs[-1].text == f"{fresh.site / 'mhsa_book' / '__init__.py'}\n"

    # Something was added, and nothing that was there changed.
    after = fresh.versions()
    assert {name: after.get(name) for name in before} == before
    assert after.keys() - before.keys() == {"mhsa-lib", *(added() - had().keys())}
