"""A file is written whole or not at all."""

import os
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write text to a temporary file beside it, and rename that when it is complete.

    Whatever stops the writing leaves the file as it was, and nothing beside it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "a.txt"), "all of it")
    ...     [path.read_text(encoding="utf-8") for path in Path(folder).iterdir()]
    ['all of it']
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
