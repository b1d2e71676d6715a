"""nbval really compares, with the packages it was told to use."""

import nbformat
import pytest
from nbval.plugin import get_sanitize_patterns

from tools import ROOT
from tools.check import compare


def test_every_pair_of_the_sanitise_file_is_read():
    """A bare `replace:` without its trailing space drops the pair without a word."""
    text = compare.SANITIZE.read_text(encoding="utf-8")
    assert (
        len(get_sanitize_patterns(text)) == text.count("regex:") == text.count("replace:") > 0
    )


@pytest.mark.slow  # two kernels; every comparison begins with the first of these notebooks
def test_a_kernel_that_imports_another_copy_of_the_library_is_noticed(tmp_path, capfd):
    site, folder = tmp_path / "site", tmp_path / "notebooks"
    for package in compare.PACKAGES:
        (site / package).mkdir(parents=True)
        (site / package / "__init__.py").touch()
    folder.mkdir()
    nbformat.write(compare.probe(site), folder / "right.ipynb")
    nbformat.write(compare.probe(ROOT), folder / "wrong.ipynb")
    assert compare.nbval(folder, site=site) == 1
    said = capfd.readouterr().out
    assert "1 failed, 1 passed" in said
    assert "wrong.ipynb" in said
