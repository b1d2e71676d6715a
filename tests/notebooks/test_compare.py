"""nbval really compares, with the packages it was told to use."""

import nbformat
from nbval.plugin import get_sanitize_patterns

from tools import ROOT, compare


def test_every_pair_of_the_sanitise_file_is_read():
    """A bare `replace:` without its trailing space drops the pair without a word."""
    text = compare.SANITIZE.read_text()
    assert (
        len(get_sanitize_patterns(text)) == text.count("regex:") == text.count("replace:") > 0
    )


def test_a_kernel_that_imports_another_copy_of_the_library_is_noticed(tmp_path, capfd):
    nbformat.write(compare.probe(ROOT), tmp_path / "right.ipynb")
    nbformat.write(compare.probe(ROOT / "elsewhere"), tmp_path / "wrong.ipynb")
    assert compare.nbval(tmp_path, site=ROOT) == 1
    said = capfd.readouterr().out
    assert "1 failed, 1 passed" in said
    assert "wrong.ipynb" in said
