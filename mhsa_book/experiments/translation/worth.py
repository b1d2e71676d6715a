"""What a head is worth: how many nats a word costs more when it is switched off.

All words before the one that is asked for are the right ones (teacher forcing), so a mistake
counts once. A task's cost is the mean over the words that test it, in many sentences; its
interval comes from drawing the sentences again, with replacement.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mhsa_book.examples import language
from mhsa_book.results import bootstrap
from mhsa_book.results.bootstrap import Interval
from mhsa_book.transformer import PAD, EncoderDecoder, shifted

ANY = "any"
"""Every word that tests a task: all but the greeting and the end."""

ASKED = (*language.TASKS, ANY)
"""What costs are given for."""


@torch.no_grad()
def nats(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> Tensor:
    """What every word costs, (sentence, token), the end of a sentence too; 0 at padding.

    >>> model = EncoderDecoder(len(language.SOURCE), len(language.TARGET), 13)
    >>> nats(model, language.translations("rolan ot meti balo")).shape
    torch.Size([4, 7])
    """
    source, target = language.batch(pairs)
    given, wanted = shifted(target)
    return nats_of(model(source, given), wanted)


def nats_of(logits: Tensor, wanted: Tensor) -> Tensor:
    """Minus the logarithm of the wanted words' probabilities, (sentence, token).

    >>> nats_of(torch.zeros(1, 2, 4), torch.tensor([[3, PAD]])).exp()
    tensor([[4., 1.]])
    """
    said = logits.log_softmax(dim=-1).gather(-1, wanted[..., None])[..., 0]
    return -said.masked_fill(wanted == PAD, 0)


def asked(pairs: Sequence[language.Pair], task: str) -> Tensor:
    """Where a batch tests a task, or any, (sentence, token); ``ValueError`` if nowhere.

    >>> asked(language.translations("rolan ot meti balo")[:1], ANY).tolist()
    [[False, True, True, True, True, False]]
    """
    tasks = language.TASKS if task == ANY else (task,)
    found = torch.stack([language.places(pairs, each) for each in tasks]).any(dim=0)
    if not found.any():
        raise ValueError(f"no word of these {len(pairs)} pairs tests {task!r}; give others.")
    return found


def by_task(more: Tensor, pairs: Sequence[language.Pair]) -> dict[str, float]:
    """The mean of some nats (sentence, token) over the words of each task, and of any.

    >>> by_task(torch.ones(64, 13), language.pairs(64))
    {'order': 1.0, 'sense': 1.0, 'agreement': 1.0, 'count': 1.0, 'any': 1.0}
    """
    return {task: more[asked(pairs, task)].mean().item() for task in ASKED}


def cost(more: Tensor, where: Tensor, *, n_draws: int = 2000, seed: int = 0) -> Interval:
    """Mean of some nats over the words ``where``, both (sentence, token), and its interval.

    The bootstrap draws whole sentences: words of one sentence are not independent. Raises
    ``ValueError`` for no word, or shapes that differ.

    >>> more, where = torch.tensor([[1.0, 9.0], [3.0, 9.0]]), torch.tensor([[True, False]] * 2)
    >>> cost(more, where)
    2.00 (1.00 to 3.00)
    """
    if more.shape != where.shape or not where.any():
        raise ValueError(
            f"nats {tuple(more.shape)} and places {tuple(where.shape)} with {int(where.sum())} "
            f"words; give one shape, (sentence, token), and at least one word."
        )
    sums, words = (more * where).sum(dim=1), where.sum(dim=1)
    return bootstrap.mean(sums, words, n_draws=n_draws, seed=seed)
