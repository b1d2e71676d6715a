"""Gates on the heads of a trained model: trained with it, then taken off again.

To the loss in nats a word λ · Σ P(gate ≠ 0) is added, the sum over all heads of the model. All
weights go on learning, as in the paper when the heads of encoder and decoder are gated. Gates
learn faster: to close, log_alpha has to fall by more than five, and no weight moves that far.

Source: Voita et al., section 4, arXiv 1905.09418.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import islice
from typing import Any

import torch

from mhsa_book.experiments.pruning.removal import paths, removed
from mhsa_book.experiments.training import Draw, rising_and_falling, updates
from mhsa_book.experiments.translation import Head, heads_of
from mhsa_book.experiments.translation.learning import draw, of_translations
from mhsa_book.transformer import EncoderDecoder
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.variants.gated import GatedAttention

GATE_RATE = 0.1
"""The highest learning rate of log_alpha."""


def gated(model: EncoderDecoder) -> EncoderDecoder:
    """A copy of a model with an open gate on every head, which can be trained.

    >>> from mhsa_book.experiments.translation.learning import untrained
    >>> gates_of(gated(untrained(seed=0)))[Head("cross-attention", 1, 2)]
    3.0
    """
    copy = deepcopy(model)
    for path in paths(model):
        plain: Any = model.get_submodule(path)
        attention = GatedAttention(plain.d_model, plain.n_heads, d_head=plain.d_head)
        attention.to(plain.W_O.weight)
        attention.load_state_dict(plain.state_dict(), strict=False)
        copy.set_submodule(path, attention)
    return copy.requires_grad_(True)


def train(
    model: EncoderDecoder,
    weight: float,
    *,
    seed: int,
    n_steps: int,
    learning_rate: float,
    draw: Draw = draw,
) -> EncoderDecoder:
    """The model with gates, trained with them; ``weight`` is the λ of every head.

    ``seed`` decides the batches and the draws of the gates. It comes back in evaluation mode.

    >>> from mhsa_book.experiments.translation.learning import untrained
    >>> with_gates = train(untrained(0), 9.0, seed=0, n_steps=2, learning_rate=1e-3)
    >>> max(gates_of(with_gates).values()) < 3
    True
    """
    copy = gated(model).train()
    attentions = [*_attentions(copy)]
    gates = [attention.gate.log_alpha for attention in attentions]
    weights = [p for name, p in copy.named_parameters() if not name.endswith("log_alpha")]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        steps = updates(
            copy,
            draw,
            seed=seed,
            learning_rate=learning_rate,
            schedule=rising_and_falling(n_steps),
            loss=of_translations,
            extra=lambda: weight * sum(attention.gate.penalty() for attention in attentions),
            parameters=[{"params": weights}, {"params": gates, "lr": GATE_RATE}],
        )
        for _ in islice(steps, n_steps):
            pass
    return copy.eval()


def gates_of(model: EncoderDecoder) -> dict[Head, float]:
    """The log_alpha of every head of a model with gates, to five decimals, as it is kept."""
    values = torch.cat([attention.gate.log_alpha for attention in _attentions(model)]).tolist()
    return {h: round(value, 5) for h, value in zip(heads_of(model), values, strict=True)}


def opened(model: EncoderDecoder) -> tuple[Head, ...]:
    """The heads whose gate is not 0 in evaluation mode."""
    values = torch.cat([attention.gate.values() for attention in _attentions(model)])
    return tuple(head for head, gate in zip(heads_of(model), values, strict=True) if gate > 0)


def ungated(model: EncoderDecoder, keep: Iterable[Head]) -> EncoderDecoder:
    """The model without gates, and with the heads ``keep`` only, which can be trained.

    The columns of W_O of a head are multiplied with its gate. If ``keep`` holds every head with
    an open gate, it computes what the model with gates does in evaluation mode; a head with a
    closed gate that has to stay all the same begins with columns of zeros.
    """
    plain = deepcopy(model)
    for path, attention in zip(paths(model), _attentions(model), strict=True):
        sizes: Any = {"d_head": attention.d_head}
        bare = MultiHeadAttention(attention.d_model, attention.n_heads, **sizes)
        bare.to(attention.W_O.weight).load_state_dict(
            {
                name: value
                for name, value in attention.state_dict().items()
                if "gate" not in name
            }
        )
        with torch.no_grad():
            bare.W_O.weight.mul_(attention.gate.values().repeat_interleave(attention.d_head))
        plain.set_submodule(path, bare)
    return removed(plain.eval(), keep)


def _attentions(model: EncoderDecoder) -> Iterator[Any]:
    return (model.get_submodule(path) for path in paths(model))
