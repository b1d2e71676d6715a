"""Why an implementation was not run, in a few words."""

import re

from mhsa_book.equivalence.peers import NotApplicableError


def why(error: Exception) -> str:
    """A short reason, without paths of this machine."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{error.name.split('.')[0]} is not installed"
    if isinstance(error, NotApplicableError):
        return str(error)
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {re.sub(r'/[^ ]*/', '', first)[:80]}"
