"""Which processor this is, where the system tells."""

import platform
from pathlib import Path


def processor() -> str:
    """The model of the processor, or at least its family.

    >>> isinstance(processor(), str)
    True
    """
    return cpuinfo("model name") or platform.machine()


def cpuinfo(field: str) -> str:
    """A field of Linux's list of processors; empty elsewhere.

    >>> cpuinfo("no such field")
    ''
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(field)), "")
