"""How good a translator can get that has no self-attention in its decoder.

Such a decoder knows the source, the place and the last word (``language.visible``), and not
which of the four greetings it began with. The four translations of a source tell what can
follow, and the best guess gives each word the share of those translations that go on with it.
"""

import math
from collections.abc import Sequence

from mhsa_book.examples import language
from mhsa_book.experiments.translation.worth import ASKED

END = "end"
DECODER = "decoder self-attention"


def best_guess(pairs: Sequence[language.Pair]) -> dict[str, float]:
    """Nats a word of each task for the best guess without the decoder's self-attention.

    >>> costs = best_guess(language.translations("rolan ot balo"))
    >>> {task: f"{cost:.2f}" for task, cost in costs.items()}
    {'order': '0.52', 'sense': '0.00', 'agreement': '1.04', 'count': '0.69', 'any': '0.46'}
    """
    costs: dict[str, list[float]] = {task: [] for task in ASKED}
    for pair in pairs:
        four = language.translations(" ".join(pair.source))
        for place, word in enumerate(pair.words):
            for task in (*word.tasks, *(("any",) if word.tasks else ())):
                costs[task].append(_cost(pair, place, four))
    return {task: sum(found) / len(found) for task, found in costs.items()}


def _cost(pair: language.Pair, place: int, four: Sequence[language.Pair]) -> float:
    known = language.visible(pair, place, DECODER)
    goes_on = [
        (*other.target, END)[place]
        for other in four
        if place <= len(other.target) and language.visible(other, place, DECODER) == known
    ]
    return -math.log(goes_on.count(pair.target[place]) / len(goes_on))
