"""Which head of a model has a role: the one it can least do without in a task, or that aligns.

Five roles, which one head may hold together: one for each task of the languages, and one for
the alignment. The first four are found by switching single heads off, which is close to what
greedy removal looks at; the fifth only by where a head looks.
"""

from mhsa_book.examples import language
from mhsa_book.experiments.pruning.orders import Pairs
from mhsa_book.experiments.translation import Head, alignment, asked, heads_of, nats, without
from mhsa_book.transformer import EncoderDecoder

ALIGNMENT = "alignment"
ROLES = (*language.TASKS, ALIGNMENT)


def roles(model: EncoderDecoder, pairs: Pairs) -> dict[str, Head]:
    """The head of every role.

    A task's is the head without which, its z at zero, words of that task cost most; the
    alignment's is the head of cross-attention whose largest weight stands at an aligned word
    most often. Of equals the earlier.

    >>> from mhsa_book.experiments.translation import learning
    >>> [*roles(learning.untrained(seed=0), language.pairs(64))]
    ['order', 'sense', 'agreement', 'count', 'alignment']
    """
    costs = {}
    for head in heads_of(model):
        with without(model, [head]):
            costs[head] = nats(model, pairs)
    found = {}
    for task in language.TASKS:
        where = asked(pairs, task)
        means = {head: cost[where].mean().item() for head, cost in costs.items()}
        found[task] = max(means, key=lambda head: means[head])
    missed = alignment.missed(alignment.weights(model, pairs), alignment.gold(pairs))
    cross = heads_of(model, "cross-attention")
    return found | {ALIGNMENT: cross[int(missed.flatten().argmin())]}
