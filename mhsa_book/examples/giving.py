"""Sentences in which somebody gives somebody else a drink, for a language model to finish."""

NAMES = (
    *("Alice", "Tom", "Anna", "James", "Sarah", "David", "Emma", "Peter", "Lucy", "Paul"),
    *("Kate", "Mark", "Helen", "Jack"),
)
"""One token each for SmolLM2; women and men take turns."""


def giving_sentences() -> list[str]:
    """Return 28 sentences of one form, in which each name gives twice and receives twice.

    Both orders of two names occur, so that an average over the sentences does not say which of
    the two came first either. After each the name of the receiver is missing: indirect object
    identification (Wang et al., "Interpretability in the Wild", section 2, arXiv 2211.00593).

    >>> giving_sentences()[0]
    'When Alice and Tom went to the store, Tom gave a drink to'
    """
    both = []
    for receiver, giver in zip(NAMES, NAMES[1:] + NAMES[:1], strict=True):
        for pair in (f"{receiver} and {giver}", f"{giver} and {receiver}"):
            both.append(f"When {pair} went to the store, {giver} gave a drink to")
    return both
