"""A stored file by its name, or which names there are."""

from pathlib import Path


def stored(folder: Path, name: str, missing: str) -> Path:
    """The JSON file of that name; ``ValueError`` says what is ``missing``, and what there is.

    >>> stored(Path("no folder"), "demo", "no runs are kept as 'demo'")
    Traceback (most recent call last):
    ...
    ValueError: no runs are kept as 'demo'; there are: none.
    """
    file = folder / f"{name}.json"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.json"))) or "none"
        raise ValueError(f"{missing}; there are: {known}.")
    return file
