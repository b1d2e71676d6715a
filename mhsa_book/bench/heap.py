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


def keep() -> bool:
    """Ask glibc to keep freed memory for the next request; False where there is no glibc.

    From here on, to the end of the process: no request goes to the kernel for pages of its own
    (M_MMAP_MAX = 0), and none are given back (M_TRIM_THRESHOLD). Before Python starts, the
    variables MALLOC_MMAP_MAX_ and MALLOC_TRIM_THRESHOLD_ do the same.

    Source: mallopt(3).
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    m_trim_threshold, m_mmap_max = -1, -4
    return bool(mallopt(m_mmap_max, 0) and mallopt(m_trim_threshold, 2**31 - 1))
