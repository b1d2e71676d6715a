"""The first minute: the pass in six steps, and what each says, here and on the page."""

from mhsa_book import examples

STEPS = (
    (
        "Question",
        "In a model every word is a row of numbers. The row of “{last}” says what the word "
        "means, but not what is {last} here: the animal, or the street?",
    ),
    (
        "Project, split",
        "Three heads read every word. Each makes three short rows of numbers from it: q, what "
        "the word looks for; k, what it is found by; v, what it hands over.",
    ),
    (
        "Attend",
        "Each head compares q of “{asked}” with k of every word: the scores. They become "
        "weights, below them, which sum to 1: how much of each word's v “{asked}” receives.",
    ),
    (
        "Other word",
        "Press “{other}”. Two numbers of its row differ, living and place: so one head has "
        "another q and looks elsewhere; the other two look as before.",
    ),
    (
        "Concat, W_O",
        "Each head brings a mean of v: z. The three stand side by side: concat. W_O adds them "
        "up into a new row for “{asked}”: the bars say what it has learned.",
    ),
    (
        "One head off",
        "Switch “{meant}” off. The other two heads still bring what they brought, but nobody "
        "tells “{last}” what it belongs to: that part of the sum is forgotten.",
    ),
)
"""The name of each step, and its sentence, in which ``{last}`` is the last word and
``{asked}`` the one whose row is shown."""


def says(step: int, sentence: int, word: int = -1) -> str:
    """What a step says of a sentence while one of its words is asked.

    >>> says(3, 0)[:36]
    'Press “wide”. Two numbers of its row'
    """
    last, other = (examples.SENTENCES[i][-1] for i in (sentence, 1 - sentence))
    asked = examples.SENTENCES[sentence][word]
    return STEPS[step][1].format(last=last, other=other, meant=examples.HEADS[0], asked=asked)
