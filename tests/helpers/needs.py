"""What a test needs from the machine, and what happens where it is not there."""

import os
import shutil

import pytest


def missing(what: str) -> None:
    """Fail in CI; elsewhere skip, saying what was not there."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


def find_chromium(for_want_of: str) -> str:
    """Return where Chromium is; say what cannot be tested for want of it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        missing(f"no chromium on this machine: {for_want_of}")
    return found
