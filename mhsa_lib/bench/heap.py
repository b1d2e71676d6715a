"""What glibc's allocator keeps of freed memory."""

import ctypes


def give_back() -> None:
    """Ask glibc to return freed memory to the kernel, whatever its thresholds say."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
