"""A real mistake: what people write, or nearly wrote, when they build attention."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """Replace ``old``, which occurs once in ``file``, by ``new``; ``tests`` must then fail.

    ``exhibit`` is the same mistake in the bug museum, where it is there.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str
    exhibit: str = ""


def test_file(name: str) -> Path:
    """Return the file of tests that a mutant names: attention, or widgets/predict."""
    return Path("tests", name).with_name(f"test_{Path(name).name}.py")
