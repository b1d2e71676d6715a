"""How much memory this process may still take, where the machine says so."""

from pathlib import Path

MEMINFO = Path("/proc/meminfo")
GROUPS = Path("/sys/fs/cgroup")
NAMES = [
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
]
"""Of two generations of Linux: a folder, the limit of a container, what it uses, and how its
statistics call the part of this that is only a copy of files, and given up when needed."""


def available_bytes() -> int | None:
    """Bytes that can be taken without pushing others out; None where nobody says.

    It is the smaller of what the machine has left and what its container leaves. Only Linux
    says, Colab and most servers among them.

    >>> available = available_bytes()
    >>> available is None or available > 0
    True
    """
    said = [
        _amounts(MEMINFO).get("MemAvailable"),
        *(_left_in_container(GROUPS / folder, *names) for folder, *names in NAMES),
    ]
    return min((amount for amount in said if amount is not None), default=None)


def _left_in_container(folder: Path, limit: str, used: str, files: str) -> int | None:
    if not ((folder / limit).is_file() and (folder / used).is_file()):
        return None
    most = (folder / limit).read_text(encoding="utf-8").strip()
    if most == "max":
        return None
    given_up = _amounts(folder / "memory.stat").get(files, 0)
    taken = int((folder / used).read_text(encoding="utf-8")) - given_up
    return max(int(most) - taken, 0)


def _amounts(file: Path) -> dict[str, int]:
    """Bytes by their names, of a file with a name and an amount in every line, in kB or not."""
    if not file.is_file():
        return {}
    lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    return {
        name.rstrip(":"): int(amount) * (1024 if unit else 1) for name, amount, *unit in lines
    }
