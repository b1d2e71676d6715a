"""A task that only the sequence itself can solve: go on with what was there before.

Random tokens, then the same again and again. Nothing about the next token can be learned in
advance; it has to be looked up in the sequence. The period and the length of a random beginning
differ from sequence to sequence, so that no one distance is right for all of them.

Source: Olsson et al., "In-context Learning and Induction Heads", arXiv 2209.11895.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mhsa_lib import checks


class Sequences(NamedTuple):
    """Drawn sequences: what a model reads, what follows, and where that can be known."""

    inputs: Tensor
    """Token ids (sequence, position); the first is the start token."""

    targets: Tensor
    """The token after each position."""

    known: Tensor
    """True where the tokens up to here settle the next one."""


def draw(
    n: int,
    n_tokens: int,
    generator: torch.Generator,
    *,
    length: int = 64,
    periods: tuple[int, int] = (2, 20),
    longest_prefix: int = 16,
) -> Sequences:
    """Sequences of a random prefix and a random block that repeats until the end.

    Tokens are ids below ``n_tokens``; ``n_tokens`` itself is the start token. The period is
    drawn from ``periods``, both ends included, the prefix from 0 to ``longest_prefix``.

    >>> drawn = draw(1, 10, torch.Generator().manual_seed(2), length=9, periods=(3, 3),
    ...              longest_prefix=1)
    >>> drawn.targets
    tensor([[1, 4, 8, 1, 4, 8, 1, 4, 8]])
    >>> drawn.inputs[0, 0].item(), drawn.known[0].int().tolist()
    (10, [0, 0, 0, 0, 1, 1, 1, 1, 1])
    """
    checks.positive(n=n, n_tokens=n_tokens, length=length, shortest_period=periods[0])
    if not periods[0] <= periods[1]:
        raise ValueError(f"periods={periods} hold no period; write (shortest, longest).")
    position = torch.arange(length)
    prefix = torch.randint(longest_prefix + 1, (n, 1), generator=generator)
    period = torch.randint(periods[0], periods[1] + 1, (n, 1), generator=generator)
    first = prefix + (position - prefix) % period  # where the token stands for the first time
    source = torch.where(position < prefix, position, first)
    tokens = torch.randint(n_tokens, (n, length), generator=generator).gather(1, source)
    start = torch.full((n, 1), n_tokens)
    # The first repeated token comes unannounced: nothing before it says what the period is.
    known = position > prefix + period
    return Sequences(torch.cat([start, tokens[:, :-1]], dim=1), tokens, known)


def accuracy(logits: Tensor, sequences: Sequences) -> float:
    """Share of the tokens that can be known for which the model's first guess is right.

    >>> drawn = draw(4, 10, torch.Generator().manual_seed(0))
    >>> oracle = torch.nn.functional.one_hot(drawn.targets, 11).float()
    >>> accuracy(oracle, drawn)
    1.0
    """
    right = logits.argmax(dim=-1) == sequences.targets
    return right[sequences.known].float().mean().item()


def induction(weights: Tensor, sequences: Sequences) -> Tensor:
    """Mean weight of each head on what followed the query's token earlier: (head).

    This is the score of an induction head: the query asks "what came after me, the last
    times?". ``weights`` is (sequence, head, query, key); the mean is over the known positions.

    >>> drawn = draw(4, 10, torch.Generator().manual_seed(0))
    >>> looking_everywhere = torch.ones(64, 64).tril() / torch.arange(1, 65)[:, None]
    >>> induction(looking_everywhere.expand(4, 1, 64, 64), drawn) < 0.2
    tensor([True])
    """
    inputs, known = sequences.inputs, sequences.known
    same = inputs[:, :, None] == inputs[:, None, :]  # (sequence, query, key)
    after_same = same.roll(1, dims=-1).tril()  # key k counts if the token before it is the same
    after_same[..., 0] = False
    on_them = (weights * after_same[:, None]).sum(dim=-1)
    return on_them.transpose(1, 2)[known].mean(dim=0)
