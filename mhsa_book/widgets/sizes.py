"""Sizes that do not go together: the rules by which the dials of ``sizes.js`` go."""

from mhsa_lib import checks


def problem_of(d_model: int, n_heads: int, n_kv_heads: int, d_head: int | None) -> str | None:
    """Why the library refuses these sizes, with a repair; None if it takes them.

    >>> problem_of(d_model=768, n_heads=10, n_kv_heads=10, d_head=None)
    'n_heads=10 does not divide d_model=768; try d_model=760 or d_model=770, or set d_head.'
    >>> problem_of(d_model=768, n_heads=10, n_kv_heads=10, d_head=77)
    """
    try:
        checks.head_width(d_model, n_heads, d_head)
        checks.divides(n_heads=n_heads, n_kv_heads=n_kv_heads)
    except ValueError as error:
        return str(error)
    return None
