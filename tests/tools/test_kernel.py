"""The WebAssembly that lies in git is what its source says."""

from tests.helpers.needs import missing
from tools.build import kernel


def test_the_stored_code_is_the_assembled_source():
    if not kernel.ASSEMBLER.exists():
        missing("no assembler: run `npm ci`")
    assert kernel.SCRIPT.read_text(encoding="ascii") == kernel.assembled()
