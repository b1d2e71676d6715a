"""A translator that never had one kind of attention: what does it learn all the same?

To switch heads off in a trained model asks what that model does with them. To train without
them asks what the task needs: here the rest of the model may find another way.
"""

from mhsa_book.experiments.translation.heads import heads_of, without
from mhsa_book.experiments.translation.learning import STEPS, fitted, untrained
from mhsa_book.experiments.translation.measured import fresh_pairs
from mhsa_book.experiments.translation.worth import by_task, nats


def never_had(kind: str, seed: int, n_steps: int = STEPS) -> dict[str, float]:
    """Nats a word of each task, after training with all heads of a kind at zero throughout.

    >>> [*never_had("cross-attention", seed=0, n_steps=2)]
    ['order', 'sense', 'agreement', 'count', 'any']
    """
    model = untrained(seed)
    with without(model, heads_of(model, kind)):
        fitted(model, seed, n_steps)
        return by_task(nats(model, fresh_pairs()), fresh_pairs())
