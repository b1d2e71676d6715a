"""What glibc's allocator keeps of freed memory."""

import ctypes
import sys


def give_back() -> None:
    """Ask glibc to return freed memory to the kernel; nothing where there is no glibc."""
    if sys.platform != "linux":
        return  # on Windows there is not even a CDLL(None)
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
