"""What a file said in an earlier commit."""

import subprocess
from pathlib import Path

import pytest


def words_at(commit: str, file: Path) -> str:
    """Its text without quotes and line breaks; the test is skipped without that commit."""
    told = subprocess.run(
        ["git", "show", f"{commit}:./{file.name}"],
        cwd=file.parent,
        check=False,
        capture_output=True,
        text=True,
    )
    if told.returncode:
        pytest.skip(f"the commit is not in this copy of the repository: {told.stderr.strip()}")
    return " ".join(told.stdout.replace('"', " ").split())
