"""A tokenizer for small models: every letter of an alphabet is a token."""

from collections.abc import Sequence


class Letters:
    """One token for every letter of an alphabet, in its order.

    Parameters
    ----------
    alphabet : the letters, no two alike

    Raises
    ------
    ValueError : in ``ids``, for a letter that is not in the alphabet

    Examples
    --------
    >>> letters = Letters("abc ")
    >>> letters.ids("a cab"), letters.text([2, 0, 1])
    ([0, 3, 2, 0, 1], 'cab')
    """

    def __init__(self, alphabet: str) -> None:
        self.spellings = [*alphabet]

    def ids(self, text: str) -> list[int]:
        """Ids of the letters of a text."""
        if strange := sorted({*text} - {*self.spellings}):
            raise ValueError(f"text has {strange}; only {''.join(self.spellings)!r} is known.")
        return [self.spellings.index(letter) for letter in text]

    def text(self, ids: Sequence[int]) -> str:
        """The text of these tokens."""
        return "".join(self.spellings[i] for i in ids)
